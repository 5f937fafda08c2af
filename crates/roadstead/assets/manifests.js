// Manifests from what was filled in.

/** Pods of one kind: one by one, or as the replicas of a workload. */
export function podManifests({
  name,
  namespace,
  count,
  kind,
  cpu,
  memory,
  priority,
  label,
  selector,
  toleration,
}) {
  const requests = {};
  if (cpu) requests.cpu = cpu;
  if (memory) requests.memory = memory;
  const spec = { containers: [{ name: "main", image: "example/app", resources: { requests } }] };
  // A pod has its priority by the name of a class only; the class comes along.
  const classes = priority ? [priorityClass(wholeNumber(priority, "Priority"))] : [];
  if (priority) spec.priorityClassName = classes[0].metadata.name;
  if (selector) spec.nodeSelector = pairs(selector, "Node selector");
  if (toleration) spec.tolerations = [parseToleration(toleration)];
  const labels = { app: name, ...(label ? pairs(label, "Label") : {}) };
  const metadata = { name, namespace: namespace || "default" };
  if (kind === "Deployment") {
    const template = { metadata: { labels }, spec };
    return [
      ...classes,
      {
        apiVersion: "apps/v1",
        kind,
        metadata,
        spec: { replicas: count, selector: { matchLabels: { app: name } }, template },
      },
    ];
  }
  if (kind === "Job") {
    const template = { metadata: { labels }, spec: { ...spec, restartPolicy: "Never" } };
    const spread = { completions: count, parallelism: count };
    return [...classes, { apiVersion: "batch/v1", kind, metadata, spec: { ...spread, template } }];
  }
  const pods = numbered(name, count).map((one) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...metadata, name: one, labels },
    spec,
  }));
  return [...classes, ...pods];
}

function priorityClass(value) {
  const name = value < 0 ? `priority-minus-${-value}` : `priority-${value}`;
  return { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name }, value };
}

export function nodeManifests({ name, count, cpu, memory, pods, zone, label, taint }) {
  return numbered(name, count).map((one) => {
    const labels = { "kubernetes.io/hostname": one, ...(label ? pairs(label, "Label") : {}) };
    if (zone) labels["topology.kubernetes.io/zone"] = zone;
    const capacity = { cpu: cpu || "4", memory: memory || "16Gi", pods: String(pods || 110) };
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: one, labels } };
    if (taint) node.spec = { taints: [parseTaint(taint)] };
    node.status = { capacity, allocatable: capacity };
    return node;
  });
}

/** A stream of YAML documents. */
export function toYaml(documents) {
  return documents.map((document) => lines(document, "").join("\n")).join("\n---\n") + "\n";
}

function numbered(name, count) {
  return count === 1 ? [name] : Array.from({ length: count }, (_, index) => `${name}-${index}`);
}

function wholeNumber(text, field) {
  if (!/^-?\d+$/.test(text)) throw new Error(`${field}: “${text}” is not a whole number.`);
  return Number(text);
}

function pairs(text, field) {
  const entries = text.split(",").map((pair) => pair.trim().split("="));
  if (entries.some((pair) => pair.length !== 2 || !pair[0])) {
    throw new Error(`${field}: write it as key=value, several with commas between them.`);
  }
  return Object.fromEntries(entries);
}

function parseTaint(text) {
  const found = /^([^=:]+)(?:=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(text);
  if (!found) throw new Error("Taint: write it as key=value:NoSchedule, or PreferNoSchedule, or NoExecute.");
  const [, key, value, effect] = found;
  return value ? { key, value, effect } : { key, effect };
}

function parseToleration(text) {
  const found = /^([^=:\s]+)(?:=([^=:\s]*))?(?::(NoSchedule|PreferNoSchedule|NoExecute))?$/.exec(text);
  if (!found)
    throw new Error("Tolerates: write it as key, key=value, or with an effect as key=value:NoSchedule.");
  const [, key, value, effect] = found;
  return {
    key,
    ...(value ? { operator: "Equal", value } : { operator: "Exists" }),
    ...(effect ? { effect } : {}),
  };
}

function lines(value, indent) {
  return Object.entries(value).flatMap(([key, part]) => {
    if (Array.isArray(part)) {
      return [
        `${indent}${scalar(key)}:`,
        ...part.flatMap((item) => {
          const [first, ...rest] = lines(item, `${indent}  `);
          return [`${indent}- ${first.trimStart()}`, ...rest];
        }),
      ];
    }
    if (typeof part === "object") {
      const inner = lines(part, `${indent}  `);
      return inner.length ? [`${indent}${scalar(key)}:`, ...inner] : [`${indent}${scalar(key)}: {}`];
    }
    return [`${indent}${scalar(key)}: ${scalar(part)}`];
  });
}

/** Texts that YAML could take for something else are quoted, as JSON does, which is YAML too. */
function scalar(value) {
  if (typeof value === "number") return String(value);
  const isPlain = /^[A-Za-z][\w./-]*$/.test(value) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(value);
  return isPlain ? value : JSON.stringify(value);
}
