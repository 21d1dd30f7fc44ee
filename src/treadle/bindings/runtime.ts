/** A uuid as its 36 characters. */
export type Uuid = string;
/** RFC 3339 in UTC, with up to six digits of a second: more than a `Date` holds. */
export type Timestamp = string;
/** `YYYY-MM-DD`. */
export type CalendarDate = string;
/** A decimal or an amount of money as its digits: more than a `number` holds. */
export type DecimalText = string;

/** An outcome without a payload. */
export type Nothing = Readonly<Record<never, never>>;

/** The new revision of a row that a command wrote; `element` is its place in a bulk command's list. */
export interface Revision {
  readonly binding: string;
  readonly revision: bigint;
  readonly element?: number;
}

/** A declared outcome of a command: durable, and answered again for the same idempotency key. */
export interface Answer<Outcome extends string, Fields> {
  readonly outcome: Outcome;
  readonly fields: Fields;
  readonly workflow_revisions: readonly Revision[];
  readonly commit: number;
  readonly time: Timestamp;
  readonly history: string;
  readonly replayed: boolean;
}

/** A page of a named query, from one snapshot; `next` is the cursor of the page after it. */
export interface Page<Outcome extends string, Fields> {
  readonly outcome: Outcome;
  readonly fields: Fields;
  readonly next: string | null;
  readonly commit: bigint;
  readonly after_commit: bigint | null;
  readonly history: string;
}

/** What stands in a row's way, as of `commit` and the store's time `now`. */
export interface Why {
  readonly entity: string;
  readonly key: readonly unknown[];
  readonly now: Timestamp;
  readonly commit: number;
  readonly exists: boolean;
  readonly revision: number;
  readonly state: string | null;
  readonly lease: {
    readonly name: string;
    readonly holder: "nobody" | "you" | "another";
    readonly expired: boolean;
    readonly expires_at: Timestamp | null;
    readonly seconds: number;
    readonly owner: Uuid | null;
    readonly token: number | string | null;
    readonly attempts: number | null;
    readonly principal: string | null;
    readonly instance: string | null;
    readonly since: Timestamp | null;
  } | null;
  readonly commands: readonly {
    readonly command: string;
    readonly binding: string;
    readonly outcome: string;
    readonly success: boolean;
    readonly certain: boolean;
    readonly until: Timestamp | null;
    readonly needs: readonly string[];
    readonly reason: string;
    readonly remedy: string;
  }[];
  readonly reasons: readonly { readonly code: string; readonly text: string; readonly until: Timestamp | null }[];
  readonly recent: readonly {
    readonly commit: number;
    readonly time: Timestamp;
    readonly command: string;
    readonly outcome: string;
    readonly success: boolean;
    readonly revision: number | null;
    readonly you: boolean;
    readonly principal: string;
    readonly instance: string | null;
  }[];
}

/** What the server refuses, or what keeps it from being asked. `code` and `recovery` are stable. */
export class TreadleError extends Error {
  readonly code: string;
  /** correct_request, retry, repeat_same_key, obtain_permission, refresh_contract or contact_operator. */
  readonly recovery: string;
  /** Further members of the problem document, such as `path`, `constraint` and `trace_id`. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, recovery: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.name = "TreadleError";
    this.code = code;
    this.recovery = recovery;
    this.details = details;
  }
}

export interface ClientOptions {
  /** The token that the server gave; its principal acts. */
  readonly token?: string;
  /** Which process of the principal calls, such as `host-7/4242`; recorded only. */
  readonly instance?: string;
  /** How often a call is tried at most; 5 without it. */
  readonly attempts?: number;
  /** Milliseconds for all attempts of a call together; 30,000 without it. */
  readonly timeout?: number;
  /** Milliseconds for one attempt; 10,000 without it. */
  readonly attemptTimeout?: number;
  /** In place of the global `fetch`. */
  readonly fetch?: typeof fetch;
}

export interface CallOptions {
  /** Milliseconds for all attempts of this call together. */
  readonly timeout?: number;
}

export interface BatchOptions extends CallOptions {
  /** Called with commands answered and in all. */
  readonly progress?: (done: number, all: number) => void;
}

export interface QueryOptions extends CallOptions {
  /** `next` of the page before. */
  readonly after?: string | null;
  /** A commit that the snapshot must see, such as an answer's `commit`. */
  readonly atLeast?: number | bigint | null;
}

export interface WhyOptions extends CallOptions {
  /** Whether the lease's owner and token are shown, which takes an administrator. */
  readonly unmasked?: boolean;
}

/** A fresh idempotency key. Keep it before the call if you mean to repeat the call. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

type Kind =
  | "plain"
  | "integer"
  | "time"
  | "bytes"
  | { readonly optional: Kind }
  | { readonly list: Kind }
  | { readonly record: () => Shape };
type Shape = Readonly<Record<string, Kind>>;

interface CommandForm {
  readonly key: string | null;
  readonly input: Shape;
  readonly outcomes: Readonly<Record<string, Shape>>;
}

interface QueryForm {
  readonly identity: string;
  readonly parameters: Shape;
  readonly outcomes: Readonly<Record<string, Shape>>;
}

interface Face {
  readonly contract: string;
  readonly commands: Readonly<Record<string, CommandForm>>;
  readonly queries: Readonly<Record<string, QueryForm>>;
}

interface Typed {
  readonly input: unknown;
  readonly outcome: unknown;
}

/** The commands of a batch: each with the input of its own. */
export type CommandCall<Types, Name extends keyof Types = keyof Types> = {
  [Each in Name]: { readonly command: Each; readonly input: Types[Each] extends Typed ? Types[Each]["input"] : never };
}[Name];

type OutcomeOf<Types, Name extends keyof Types> = {
  [Each in Name]: Types[Each] extends Typed ? Types[Each]["outcome"] : never;
}[Name];
type InputOf<Types, Name extends keyof Types> = Types[Name] extends Typed ? Types[Name]["input"] : never;

type Document = Record<string, unknown>;
/** What a request is: it changes nothing, its key makes it safe to repeat, or it must not be sent twice. */
type What = "reads" | "keyed" | "once";
interface Reply {
  readonly status: number;
  readonly text: string;
  readonly retryAfter: number;
}
interface Attempts {
  readonly end: number;
  made: number;
  doubt: boolean;
}
interface Line {
  readonly place: number;
  readonly name: string;
  readonly text: string;
  readonly keyed: boolean;
  doubt: boolean;
}

const UNKNOWN = "outcome_unknown";
const UNREACHABLE = "unreachable";
const SETTLED = new Set([
  "arithmetic",
  "unique_conflict",
  "invariant_violated",
  "duplicate_target",
  "row_too_large",
  "revision_exhausted",
  "idempotency_key_reused",
  "idempotency_key_expired",
  "history_changed",
]);
const LINES = 1_000;
const LINE_CHARACTERS = 4_000_000;

/** What the generated client below stands on: calls, attempts, and values to JSON and back. */
export class Client<Commands, Queries> {
  /**
   * The history incarnation that the client relies on: learned from the first answer and stated with every call.
   * After a restore calls are refused as `history_changed`; read the state again, then set it to null.
   */
  history: string | null = null;
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #face: Face;
  readonly #fetch: typeof fetch;
  readonly #attempts: number;
  readonly #timeout: number;
  readonly #attemptTimeout: number;

  constructor(url: string, options: ClientOptions, face: Face) {
    const parsed = new URL(url);
    if (parsed.protocol !== "http:" && parsed.protocol !== "https:") {
      throw new TypeError("write the server's address, such as http://127.0.0.1:7480");
    }
    this.#url = url.replace(/\/+$/, "");
    this.#face = face;
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
    this.#attempts = options.attempts ?? 5;
    this.#timeout = options.timeout ?? 30_000;
    this.#attemptTimeout = options.attemptTimeout ?? 10_000;
    this.#headers = {};
    if (options.token !== undefined) this.#headers["authorization"] = `Bearer ${options.token}`;
    if (options.instance !== undefined) this.#headers["treadle-instance"] = options.instance;
  }

  /**
   * Run a command; resolves to one of its outcomes. Rejects with a `TreadleError`; after `outcome_unknown` the same
   * key tells what happened.
   */
  async run<Name extends keyof Commands & string>(
    command: Name,
    input: InputOf<Commands, Name>,
    options: CallOptions = {},
  ): Promise<OutcomeOf<Commands, Name>> {
    const form = found(this.#face.commands, command);
    const body = JSON.stringify(this.#body(form, input));
    const attempts = this.#begun(options);
    const document = await this.#answered(attempts, `v1/commands/${command}`, body, form.key !== null ? "keyed" : "once");
    return this.#answer(form, document) as OutcomeOf<Commands, Name>;
  }

  /**
   * Run many commands, each by itself: resolves to an outcome or a `TreadleError` for each of them, in order.
   * A thousand go in a request, and `timeout` is for each request.
   */
  async runMany<Name extends keyof Commands & string>(
    commands: readonly CommandCall<Commands, Name>[],
    options: BatchOptions = {},
  ): Promise<(OutcomeOf<Commands, Name> | TreadleError)[]> {
    const answers = new Array<OutcomeOf<Commands, Name> | TreadleError>(commands.length);
    for (const chunk of chunks(this.#lines(commands, answers))) {
      await this.#settle(this.#begun(options), chunk, answers);
      options.progress?.((chunk.at(-1)?.place ?? 0) + 1, commands.length);
    }
    return answers;
  }

  /** A page of a named query. */
  async query<Name extends keyof Queries & string>(
    query: Name,
    parameters: InputOf<Queries, Name>,
    options: QueryOptions = {},
  ): Promise<OutcomeOf<Queries, Name>> {
    const form = found(this.#face.queries, query);
    const body = JSON.stringify({
      parameters: written(form.parameters, parameters, "parameters"),
      after: options.after ?? null,
      at_least: options.atLeast == null ? null : Number(options.atLeast),
      history: this.history,
      contract: this.#face.contract,
      query: form.identity,
    });
    const document = await this.#answered(this.#begun(options), `v1/queries/${query}`, body, "reads");
    const page = {
      outcome: document["outcome"],
      fields: readFields(form.outcomes, document),
      next: document["next"],
      commit: read("integer", document["commit"]),
      after_commit: read({ optional: "integer" }, document["after_commit"]),
      history: this.#learned(document),
    };
    return page as OutcomeOf<Queries, Name>;
  }

  /** The pages of a named query, one after another, each of a snapshot of its own. */
  async *pages<Name extends keyof Queries & string>(
    query: Name,
    parameters: InputOf<Queries, Name>,
    options: QueryOptions = {},
  ): AsyncGenerator<OutcomeOf<Queries, Name>, void> {
    let at: QueryOptions = options;
    for (;;) {
      const page = await this.query(query, parameters, at);
      yield page;
      const { next, commit } = page as { next: string | null; commit: bigint };
      if (next === null) return;
      at = { ...options, after: next, atLeast: commit };
    }
  }

  /** What stands in the way of one row, by its entity's name and its key's values in declared order. */
  async why(
    entity: string,
    key: readonly (string | number | bigint | boolean)[],
    options: WhyOptions = {},
  ): Promise<Why> {
    const words = key.map((word) => `key=${encodeURIComponent(String(word))}&`).join("");
    const path = `v1/why/${encodeURIComponent(entity)}?${words}unmasked=${options.unmasked === true}`;
    return (await this.#answered(this.#begun(options), path, null, "reads")) as unknown as Why;
  }

  #body(form: CommandForm, input: unknown): Document {
    const body: Document = { input: written(form.input, input, "input"), contract: this.#face.contract };
    return this.history === null ? body : { ...body, history: this.history };
  }

  #learned(document: Document): string {
    const history = String(document["history"]);
    this.history ??= history;
    return history;
  }

  #answer(form: CommandForm, document: Document): Answer<string, unknown> {
    const revisions = document["workflow_revisions"] as Document[];
    return {
      outcome: String(document["outcome"]),
      fields: readFields(form.outcomes, document),
      workflow_revisions: revisions.map((one) => ({ ...one, revision: BigInt(String(one["revision"])) }) as unknown as Revision),
      commit: Number(document["commit"]),
      time: String(document["time"]),
      history: this.#learned(document),
      replayed: document["replayed"] === true,
    };
  }

  #begun(options: CallOptions): Attempts {
    return { end: performance.now() + (options.timeout ?? this.#timeout), made: 0, doubt: false };
  }

  /** Send a request until it is answered. What may have been done is sent again only if that is harmless. */
  async #answered(attempts: Attempts, path: string, body: string | null, what: What): Promise<Document> {
    for (;;) {
      const reply = await this.#sent(attempts, path, body, "application/json");
      if (!(reply instanceof TreadleError) && reply.status === 200) {
        const document = parsed(reply.text);
        if (document !== undefined) return document;
      }
      const error = told(reply, what);
      if (error.code === UNKNOWN) {
        attempts.doubt = true;
        if (what === "once") throw error;
      } else if (!passes(error)) {
        throw attempts.doubt ? doubted(error) : error;
      }
      const pause = this.#pause(attempts, reply);
      if (pause === undefined) throw attempts.doubt ? doubted(error) : error;
      await sleep(pause);
    }
  }

  /** Send lines until each has its answer; those that may be repeated are, together and in order. */
  async #settle(attempts: Attempts, lines: readonly Line[], answers: unknown[]): Promise<void> {
    let left = lines;
    for (;;) {
      const body = left.map((line) => `${line.text}\n`).join("");
      const reply = await this.#sent(attempts, "v1/commands", body, "application/jsonl");
      const texts = reply instanceof TreadleError || reply.status !== 200 ? undefined : reply.text.split("\n");
      const whole = reply instanceof TreadleError ? reply : texts === undefined ? refusal(reply) : undefined;
      left = left.filter((line, place) => this.#again(line, whole ?? said(texts?.[place]), answers));
      if (left.length === 0) return;
      const pause = this.#pause(attempts, reply);
      if (pause === undefined) return;
      await sleep(pause);
    }
  }

  /** Note what was said of a line; whether it is to be sent again. */
  #again(line: Line, answer: Document | TreadleError, answers: unknown[]): boolean {
    if (!(answer instanceof TreadleError)) {
      answers[line.place] = this.#answer(found(this.#face.commands, line.name), answer);
      return false;
    }
    line.doubt ||= answer.code === UNKNOWN;
    answers[line.place] = line.doubt ? doubted(answer) : answer;
    return answer.code === UNKNOWN ? line.keyed : passes(answer);
  }

  *#lines(
    commands: readonly { readonly command: string; readonly input: unknown }[],
    answers: unknown[],
  ): Generator<Line, void> {
    for (const [place, { command, input }] of commands.entries()) {
      try {
        const form = found(this.#face.commands, command);
        const text = JSON.stringify({ command, ...this.#body(form, input) });
        yield { place, name: command, text, keyed: form.key !== null, doubt: false };
      } catch (error) {
        if (!(error instanceof TreadleError)) throw error;
        answers[place] = error;
      }
    }
  }

  async #sent(attempts: Attempts, path: string, body: string | null, media: string): Promise<Reply | TreadleError> {
    const time = Math.max(50, Math.min(attempts.end - performance.now(), this.#attemptTimeout));
    const control = new AbortController();
    const timer = setTimeout(() => control.abort(), time);
    const wait = Math.max(1, Math.floor(time / 1_000) - 1);
    try {
      const response = await this.#fetch(`${this.#url}/${path}`, {
        method: body === null ? "GET" : "POST",
        body,
        headers: { ...this.#headers, ...(body === null ? {} : { "content-type": media }), accept: `${media}, */*;q=0.1`, prefer: `integers=string, wait=${wait}` },
        redirect: "manual",
        signal: control.signal,
      });
      const after = Number(response.headers.get("retry-after") ?? 0);
      return { status: response.status, text: await response.text(), retryAfter: Number.isFinite(after) ? after * 1_000 : 0 };
    } catch (error) {
      if (neverSent(error)) {
        return new TreadleError(UNREACHABLE, "the server cannot be reached; check its address and that it runs", "retry");
      }
      const what = control.signal.aborted ? "the server did not answer in time" : "the connection ended before an answer came";
      return new TreadleError(UNKNOWN, `${what}; repeat the same key to learn what happened`, "repeat_same_key");
    } finally {
      clearTimeout(timer);
    }
  }

  /** Milliseconds before the next attempt; undefined where there is to be none. */
  #pause(attempts: Attempts, reply: Reply | TreadleError): number | undefined {
    attempts.made += 1;
    const longest = Math.min(100 * 2 ** (attempts.made - 1), 5_000);
    const asked = reply instanceof TreadleError ? 0 : Math.min(reply.retryAfter, 60_000);
    const pause = Math.max(asked, longest * (0.5 + Math.random() / 2));
    return attempts.made >= this.#attempts || performance.now() + pause >= attempts.end ? undefined : pause;
  }
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Whether a failed `fetch` certainly sent nothing. Only some runtimes tell; a browser never does. */
function neverSent(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause as { code?: unknown; message?: unknown } | undefined) : undefined;
  return cause?.message === "bad port" || ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"].includes(String(cause?.code));
}

function passes(error: TreadleError): boolean {
  return error.recovery === "retry" && error.details["final"] !== true;
}

function doubted(error: TreadleError): TreadleError {
  if (error.code === UNKNOWN || SETTLED.has(error.code)) return error;
  const message = `an attempt may have been carried out; repeat the same key (${error.message})`;
  return new TreadleError(UNKNOWN, message, "repeat_same_key", { cause: error.code });
}

function parsed(text: string): Document | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Document) : undefined;
  } catch {
    return undefined;
  }
}

function problem(document: Document | undefined): TreadleError | undefined {
  if (typeof document?.["code"] !== "string" || !("detail" in document)) return undefined;
  const { code, detail, recovery, ...details } = document;
  return new TreadleError(code as string, String(detail), String(recovery), details);
}

/** The error of a request: of a read nothing can have happened. */
function told(reply: Reply | TreadleError, what: What): TreadleError {
  const error = reply instanceof TreadleError ? reply : refusal(reply);
  if (what !== "reads" || error.code !== UNKNOWN) return error;
  return new TreadleError(UNREACHABLE, "the server did not answer", "retry");
}

/** The error of an answer that is no success. */
function refusal(reply: Reply): TreadleError {
  const known = problem(parsed(reply.text));
  if (known !== undefined) return known;
  if (reply.status === 200 || reply.status >= 500) {
    return new TreadleError(UNKNOWN, `the server's answer cannot be read (status ${reply.status})`, "repeat_same_key");
  }
  const message = `what answers at this address is no Treadle server (status ${reply.status})`;
  return new TreadleError(UNREACHABLE, message, "retry", { final: true });
}

function said(text: string | undefined): Document | TreadleError {
  const document = text === undefined ? undefined : parsed(text);
  const early = new TreadleError(UNKNOWN, "the answer ended early; repeat the same key", "repeat_same_key");
  return problem(document) ?? document ?? early;
}

function* chunks(lines: Iterable<Line>): Generator<Line[], void> {
  let chunk: Line[] = [];
  let size = 0;
  for (const line of lines) {
    if (chunk.length > 0 && (chunk.length >= LINES || size + line.text.length > LINE_CHARACTERS)) {
      yield chunk;
      chunk = [];
      size = 0;
    }
    chunk.push(line);
    size += line.text.length;
  }
  if (chunk.length > 0) yield chunk;
}

function found<Form>(forms: Readonly<Record<string, Form>>, name: string): Form {
  const form = Object.hasOwn(forms, name) ? forms[name] : undefined;
  if (form === undefined) {
    throw new TreadleError("unknown_name", `the contract of this client has no ${name}`, "correct_request");
  }
  return form;
}

// Values.

function refused(path: string, message: string): TreadleError {
  return new TreadleError("invalid_input", `${path}: ${message}`, "correct_request", { path });
}

function written(shape: Shape, value: unknown, path: string): Document {
  if (typeof value !== "object" || value === null) throw refused(path, "must be an object");
  const entries: [string, unknown][] = [];
  for (const [name, one] of Object.entries(value)) {
    if (one === undefined) continue;
    const kind = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (kind === undefined) throw refused(`${path}.${name}`, "there is no such field");
    entries.push([name, write(kind, one, `${path}.${name}`)]);
  }
  return Object.fromEntries(entries);
}

function write(kind: Kind, value: unknown, path: string): unknown {
  if (typeof kind === "object") {
    if ("optional" in kind) return value === null ? null : write(kind.optional, value, path);
    if ("record" in kind) return written(kind.record(), value, path);
    if (!Array.isArray(value)) throw refused(path, "must be an array");
    return value.map((one, place) => write(kind.list, one, `${path}[${place}]`));
  }
  if (kind === "integer") {
    if (typeof value === "bigint" || Number.isSafeInteger(value)) return String(value);
    throw refused(path, "write a bigint, or a number that is a safe integer");
  }
  if (kind === "time" && value instanceof Date) return value.toISOString();
  if (kind === "bytes") {
    if (value instanceof Uint8Array) return toBase64(value);
    throw refused(path, "write a Uint8Array");
  }
  return value;
}

function readFields(outcomes: Readonly<Record<string, Shape>>, document: Document): Document {
  const outcome = String(document["outcome"]);
  const shape = Object.hasOwn(outcomes, outcome) ? outcomes[outcome] : undefined;
  if (shape === undefined) {
    const message = `the contract of this client declares no outcome ${outcome}; generate the client again`;
    throw new TreadleError("contract_mismatch", message, "refresh_contract");
  }
  return readRecord(shape, document["fields"]);
}

function readRecord(shape: Shape, value: unknown): Document {
  const fields = value as Document;
  return Object.fromEntries(Object.entries(shape).map(([name, kind]) => [name, read(kind, fields[name])]));
}

function read(kind: Kind, value: unknown): unknown {
  const optional = typeof kind === "object" && "optional" in kind;
  if (value == null && !optional) {
    const message = "the answer was recorded under another contract than the one that this client was written for";
    throw new TreadleError("contract_mismatch", message, "refresh_contract");
  }
  if (typeof kind === "object") {
    if ("optional" in kind) return value == null ? null : read(kind.optional, value);
    if ("record" in kind) return readRecord(kind.record(), value);
    return (value as unknown[]).map((one) => read(kind.list, one));
  }
  if (kind === "integer") return BigInt(String(value));
  if (kind === "bytes") return Uint8Array.from(atob(String(value)), (one) => one.charCodeAt(0));
  return value;
}

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8_192) text += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  return btoa(text);
}
