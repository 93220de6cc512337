// Files on their way to the gateway: by button, drop or paste; each with its progress, each removable.
import { bytes } from "./format.js";
import { base, newId } from "./lib.js";

const LARGEST = 20 * 1024 * 1024;
const MOST = 10;
const KINDS = /^(image\/(png|jpeg|gif|webp)|text\/|application\/(pdf|json|xml|x-yaml|yaml|toml|javascript))/;
const TEXT_NAMES = /\.(txt|md|csv|tsv|json|jsonl|ya?ml|toml|ini|xml|html?|css|m?js|ts|py|rb|rs|go|java|kt|c|h|cpp|hpp|cs|php|lua|sh|sql|log|diff|patch|tex)$/i;

const kindOf = (file) => {
  if (TEXT_NAMES.test(file.name) && !/^image\/|pdf/.test(file.type)) return "text/plain";
  return file.type || "application/octet-stream";
};

export class Upload {
  constructor(file, onChange) {
    Object.assign(this, { id: newId(4), name: file.name || "pasted image.png", size: file.size, mediaType: kindOf(file), state: "sending", progress: 0 });
    this.preview = /^image\//.test(this.mediaType) ? URL.createObjectURL(file) : "";
    this.onChange = onChange;
    const problem = this.#problem(file);
    if (problem) Object.assign(this, { state: "refused", problem });
    else this.#send(file);
  }

  #problem(file) {
    if (file.size > LARGEST) return `Too large: ${bytes(file.size)} of at most ${bytes(LARGEST)}`;
    if (!file.size) return "The file is empty";
    if (!KINDS.test(this.mediaType)) return "Only images, text and PDF can be sent";
    return "";
  }

  #send(file) {
    const request = new XMLHttpRequest();
    this.request = request;
    request.open("POST", `${base}v1/ostiary/blobs`);
    request.setRequestHeader("Content-Type", this.mediaType);
    request.setRequestHeader("X-Ostiary", "1");
    request.upload.onprogress = (event) => {
      this.progress = event.lengthComputable ? event.loaded / event.total : 0;
      this.onChange();
    };
    request.onload = () => this.#answered(request);
    request.onerror = () => this.#fail("The upload did not get through. Remove it and try again.");
    request.send(file);
  }

  #answered(request) {
    let said = {};
    try {
      said = JSON.parse(request.responseText);
    } catch {
      // Told by the status alone.
    }
    if (request.status >= 300 || !said.digest) {
      this.#fail(said.error?.message ?? `The gateway refused it (${request.status}).`);
      return;
    }
    Object.assign(this, { state: "sent", digest: said.digest, size: said.size ?? this.size, mediaType: said.mediaType ?? this.mediaType });
    this.onChange();
  }

  #fail(problem) {
    Object.assign(this, { state: "refused", problem });
    this.onChange();
  }

  drop() {
    if (this.state === "sending") this.request?.abort();
    if (this.preview) URL.revokeObjectURL(this.preview);
  }
}

/** Adds files to the list as far as there is room; gives how many were left out. */
export const addFiles = (list, files, onChange) => {
  const taken = [...files].slice(0, Math.max(0, MOST - list.length));
  list.push(...taken.map((file) => new Upload(file, onChange)));
  onChange();
  return files.length - taken.length;
};

export const blobAddress = ({ digest, name }) => `${base}v1/ostiary/blobs/${encodeURIComponent(digest)}?name=${encodeURIComponent(name ?? "")}`;
