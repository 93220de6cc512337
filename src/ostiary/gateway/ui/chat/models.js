// Which models and commands there are; asked once per connection.
import { gateway } from "../gateway.js";
import { Cell } from "../lib.js";

export const models = new Cell([]);
export const commands = new Cell([]);

const load = async () => {
  const [m, c] = await Promise.allSettled([gateway.request("models.list"), gateway.request("commands.list")]);
  if (m.status === "fulfilled") models.value = m.value.models;
  if (c.status === "fulfilled") commands.value = c.value.commands;
};
gateway.on("open", load);
export const reloadModels = load;

export const nameOf = (ref) => {
  const found = models.value.find((m) => m.ref === ref || m.alias === ref);
  return found?.name || (ref ?? "").split("/").at(-1) || "Default model";
};

/** False only if the conversation's model is known to be blind. */
export const seesPictures = (conversation) => {
  const ref = conversation.settings.model || conversation.model;
  return models.value.find((m) => m.ref === ref || (m.alias && m.alias === ref))?.seesImages !== false;
};
