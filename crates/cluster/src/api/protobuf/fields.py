#!/usr/bin/env python3
"""Writes fields.txt from the Go types of Kubernetes: fields.py API APIMACHINERY > fields.txt

API and APIMACHINERY are the sources of k8s.io/api and k8s.io/apimachinery, of one release.
"""
import re
import sys

api, machinery = sys.argv[1:3]
sources = {name: f"{api}/{name}/v1/types.go" for name in (
    "apps", "authorization", "autoscaling", "batch", "coordination", "core", "events", "policy",
    "scheduling", "storage")}
sources["meta"] = f"{machinery}/pkg/apis/meta/v1/types.go"

# Where reading begins: what requests bring.
ROOTS = """core.Namespace core.Node core.PersistentVolume core.PersistentVolumeClaim core.Service
core.ReplicationController core.Pod core.Event core.Binding scheduling.PriorityClass
storage.StorageClass storage.CSIDriver storage.CSINode storage.CSIStorageCapacity
storage.VolumeAttachment policy.PodDisruptionBudget policy.Eviction apps.Deployment
apps.ReplicaSet apps.StatefulSet apps.DaemonSet batch.Job coordination.Lease events.Event
autoscaling.Scale authorization.SelfSubjectAccessReview meta.DeleteOptions""".split()

# Types that are not written field by field.
SPECIAL = {
    "resource.Quantity": "quantity", "meta.Time": "time", "meta.MicroTime": "time",
    "meta.Duration": "duration", "intstr.IntOrString": "int-or-string",
    "runtime.RawExtension": "raw", "meta.FieldsV1": "raw", "types.UID": "text",
    "types.NodeName": "text", "authorization.ExtraValue": "ignored",
}
PLAIN = {"string": "text", "bool": "flag", "int32": "number", "int64": "number", "int": "number",
         "float64": "ignored", "[]byte": "ignored"}

structs, aliases = {}, {}
for package, path in sources.items():
    inside = None
    for line in open(path):
        line = line.rstrip()
        if m := re.match(r"type (\w+) struct \{$", line):
            inside = structs[f"{package}.{m[1]}"] = []
        elif line == "}":
            inside = None
        elif inside is None:
            if m := re.match(r"type (\w+) ([\w.\[\]*]+)", line):
                aliases[f"{package}.{m[1]}"] = m[2]
        elif m := re.match(r"\t(?:(\w+)\s+)?(\S+)\s+`(.*)`", line):
            tag = re.search(r'protobuf:"(\w+),(\d+)', m[3])
            name = re.search(r'json:"([^",]*)([^"]*)"', m[3])
            if tag and name and name[1] != "-":
                inside.append((int(tag[2]), name[1], m[2], name[2]))


def qualify(go, package):
    """A Go type with the package that it is in, as this file calls packages."""
    if "." in go:
        where, what = go.split(".")
        return {"v1": "core", "corev1": "core", "apiv1": "core", "metav1": "meta"}.get(where, where) + "." + what
    return f"{package}.{go}"


def resolve(go, package):
    """How a value of a Go type is written, and the struct that it is, if any."""
    if go.startswith("*"):
        return resolve(go[1:], package)
    if go in PLAIN:
        return PLAIN[go], None
    if m := re.match(r"map\[[\w.]+\](.+)", go):
        kind, struct = resolve(m[1], package)
        return f"map:{kind}", struct
    if go.startswith("[]"):
        kind, struct = resolve(go[2:], package)
        return f"list:{kind}", struct
    name = qualify(go, package)
    if name in SPECIAL:
        return SPECIAL[name], None
    if name in aliases:
        return resolve(aliases[name], name.split(".")[0])
    if name not in structs:
        sys.exit(f"{name} is not known")
    return name, name


print("# The fields of messages, by their numbers: from the API types of Kubernetes v1.36.4.")
print("# Made by fields.py. `?` marks what may be left out when it is zero, `-` what is inlined.")
seen, waiting = set(ROOTS), sorted(ROOTS, reverse=True)
while waiting:
    struct = waiting.pop()
    print(struct)
    for number, name, go, options in sorted(structs[struct]):
        kind, inner = resolve(go, struct.split(".")[0])
        if kind.endswith("ignored"):
            continue
        is_plain = kind in ("text", "flag", "number", "time", "quantity")
        mark = "-" if not name else "?" if is_plain and not go.startswith("*") and "omit" in options else "="
        if kind == "time" and not go.startswith("*"):
            mark = "?"
        print(f" {number} {mark} {name or '-'} {kind}")
        if inner and inner not in seen:
            seen.add(inner)
            waiting.append(inner)
