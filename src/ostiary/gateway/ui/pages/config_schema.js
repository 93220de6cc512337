// Reading the configuration's schema: which settings there are, how they are grouped, what kind of field each wants.

const isSection = (schema) => schema.type === "object" && schema.properties && Object.keys(schema.properties).length > 0;

/** Of "this or nothing" the this; of "a text or an object" the object, which can say everything. */
const plainOf = (schema) => {
  if (!schema.anyOf) return { schema, isOptional: false };
  const some = schema.anyOf.filter((s) => s.type !== "null");
  const isOptional = some.length < schema.anyOf.length;
  const best = some.find(isSection) ?? some[0] ?? {};
  const inner = plainOf(best);
  return { schema: { ...schema, ...inner.schema, anyOf: undefined, description: schema.description ?? inner.schema.description }, isOptional: isOptional || inner.isOptional };
};

const words = (name) => {
  const spaced = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/[_-]/g, " ").toLowerCase();
  return spaced[0].toUpperCase() + spaced.slice(1).replace(/\b(api|http|tls|url|ui|dm|id|mcp)\b/g, (w) => w.toUpperCase());
};

export const kindOf = (schema) => {
  if (schema.enum) return "choice";
  if (schema.type === "boolean") return "switch";
  if (schema.type === "integer" || schema.type === "number") return "number";
  if (schema.type === "string") return schema.writeOnly ? "secret" : "text";
  if (schema.type === "array" && schema.items?.type === "string") return "list";
  return "json";
};

/** Every setting below `schema`, sections opened. */
export const leavesOf = (schema, hints, path, isAdvanced = false) => {
  const { schema: plain, isOptional } = plainOf(schema);
  const hint = hints[path] ?? {};
  const deep = isAdvanced || Boolean(hint.advanced);
  if (isSection(plain)) return Object.entries(plain.properties).flatMap(([name, inner]) => leavesOf(inner, hints, path ? `${path}.${name}` : name, deep));
  const help = hint.help ?? plain.description ?? "";
  return [{ path, label: hint.label ?? words(path.split(".").at(-1)), help, schema: plain, kind: kindOf(plain), isOptional, isAdvanced: deep, isSecret: Boolean(plain.writeOnly || hint.sensitive) }];
};

/** Sections for the list at the side, each with groups of settings. */
export const sectionsOf = (schema, hints = {}) => {
  const sections = [];
  const loose = [];
  for (const [name, inner] of Object.entries(schema.properties)) {
    if (name === "$schema" || name === "version") continue;
    const { schema: plain } = plainOf(inner);
    if (isSection(plain)) sections.push({ name, title: words(name), groups: groupsOf(plain, hints, name) });
    else loose.push(...leavesOf(inner, hints, name, kindOf(plain) === "json"));
  }
  const general = { name: "general", title: "General", groups: [{ id: "general", title: "General", about: schema.description ?? "", leaves: loose }] };
  return loose.length ? [general, ...sections] : sections;
};

const groupsOf = (section, hints, name) => {
  const own = [];
  const groups = [];
  for (const [key, inner] of Object.entries(section.properties)) {
    const path = `${name}.${key}`;
    const { schema: plain } = plainOf(inner);
    if (!isSection(plain)) own.push(...leavesOf(inner, hints, path));
    else {
      const leaves = leavesOf(inner, hints, path, Boolean(hints[path]?.advanced));
      groups.push({ id: path, title: words(key), about: plain.description ?? "", leaves: relabelled(leaves, path) });
    }
  }
  const first = { id: name, title: words(name), about: section.description ?? "", leaves: own };
  return own.length ? [first, ...groups] : groups;
};

/** Below a group the label says the way there: "Rate limit › Max attempts". */
const relabelled = (leaves, path) =>
  leaves.map((leaf) => {
    const way = leaf.path.slice(path.length + 1).split(".");
    return way.length > 1 ? { ...leaf, label: way.map(words).join(" › ") } : leaf;
  });

export const at = (tree, path) => path.split(".").reduce((node, name) => (node && typeof node === "object" ? node[name] : undefined), tree);

export const isUnder = (path, section) => path === section || path.startsWith(`${section}.`) || (section === "general" && !path.includes("."));

/** "file", "posture" or "default"; of an object the most particular of its values. */
export const originOf = (view, path) => {
  const origins = view.origins;
  if (!origins) return "";
  if (origins[path]) return origins[path];
  const below = Object.entries(origins).filter(([p]) => p.startsWith(`${path}.`)).map(([, o]) => o);
  return ["file", "posture", "default"].find((o) => below.includes(o)) ?? "default";
};
