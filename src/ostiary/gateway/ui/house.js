// Whether the house is awake, in words; asked at every connection and tick, and told whenever it changes, wherever that was.
import { answered, pending } from "./approvals.js";
import { gateway } from "./gateway.js";
import { Cell } from "./lib.js";

export const house = new Cell(null);

export const STATES = {
  awake: { word: "awake", kind: "good", about: "It listens to everybody who may speak to it." },
  action_pending: { word: "asking", kind: "warn", about: "It is awake, and something waits for your yes." },
  dormant: { word: "asleep", kind: "", about: "It hears only you. Speaking to it at this page wakes it." },
  shutdown: { word: "stopped", kind: "bad", about: "Everything was stopped. Nothing begins before you wake it." },
};
export const stateOf = (view) => STATES[view?.state] ?? { word: view?.state ?? "", kind: "", about: "" };

export const look = async () => {
  if (!gateway.offers("control.status")) return;
  try {
    house.value = await gateway.request("control.status");
  } catch (error) {
    if (error.code !== "OFFLINE") console.info(error.message);
  }
};

export const begin = () => {
  let timer = 0;
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(look, 150);
  };
  gateway.on("open", look);
  gateway.on("tick", look);
  gateway.on("house", (told) => {
    // How the tools stand for this caller is not told; it is asked for where it is shown.
    house.value = { ...told, tools: house.value?.tools ?? [] };
    soon();
  });
  gateway.on("chat", ({ state }) => ["started", "waiting", "final", "error"].includes(state) && soon());
  pending.watch(soon);
  answered.watch(soon);
};
