// What pods wait for, in words, those that are most first.

import { count } from "./words.js";

const SHOWN = 4;
const list = new Intl.ListFormat("en-GB");

const REJECTORS = {
  NodeResourcesFit: "lack of room",
  TaintToleration: "taints",
  NodeAffinity: "node labels",
  NodeName: "the node they name",
  NodeUnschedulable: "cordons",
  NodePorts: "taken ports",
  InterPodAffinity: "pod affinity",
  PodTopologySpread: "spreading",
  VolumeBinding: "volumes",
  VolumeZone: "the zone of volumes",
  VolumeRestrictions: "volumes in use",
  NodeVolumeLimits: "limits of volumes",
  DynamicResources: "devices",
};

const GATES = { SchedulingGates: "at a gate", DefaultPreemption: "for pods to make room" };

/** Of those that are unschedulable or gated, how many wait for what. */
export function reasons(held) {
  const parts = held.map(({ gate, rejectors, pods }) => ({ pods, words: reason(gate, rejectors) }));
  parts.sort((one, other) => other.pods - one.pods);
  const rest = parts.slice(SHOWN).reduce((sum, { pods }) => sum + pods, 0);
  const texts = parts.slice(0, SHOWN).map(({ pods, words }) => `${count(pods)} ${words}`);
  if (rest) texts.push(`${count(rest)} for other reasons`);
  return texts.join("; ");
}

function reason(gate, rejectors) {
  if (gate) return GATES[gate] ?? `held by ${gate}`;
  if (!rejectors.length) return "after an error";
  return `kept out by ${list.format(rejectors.map((plugin) => REJECTORS[plugin] ?? plugin))}`;
}
