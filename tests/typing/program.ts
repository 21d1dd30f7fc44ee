// A program over a generated client: what `tsc` accepts, what it must complain about, and what it does.
// A line that ends in `// wrong` is one that the compiler has to report; all others are right.
import { CONTRACT, Colour, Names_of_allClient, TreadleError, newKey, type ReturnAllOutcome, type Why, type runOutcome } from "./names_client.js";

declare const process: { readonly argv: readonly string[]; stdout: { write(text: string): void } };

const [, , url = "", token = "", proxied = "", nobody = ""] = process.argv;
const str = "00000000-0000-0000-0000-000000000007";

function amount(outcome: runOutcome): bigint {
  switch (outcome.outcome) {
    case "Added":
      return outcome.fields.int;
    case "TooMuch":
      return outcome.fields.most;
    case "Missing":
      return BigInt(outcome.fields.str.length);
    default:
      return outcome satisfies never;
  }
}

function forgets(outcome: ReturnAllOutcome): string {
  switch (outcome.outcome) {
    case "Shown":
      return outcome.fields.found.amount;
    default:
      return outcome satisfies never; // wrong
  }
}

export async function wrong(client: Names_of_allClient): Promise<void> {
  await client.returnAll_({ str }); // wrong
  await client.returnAll_({ str, id: "1" }); // wrong
  await client.run("nothing", {}); // wrong
  (await client.counted({ str })).fields.count + 1; // wrong
  (await client.counted({ str })).outcome === "Lost"; // wrong
  await client.runMany([{ command: "run", input: { str } }]); // wrong
  const shown = await client.returnAll_({ str, id: 1 });
  shown.fields.found; // wrong
  forgets(shown);
}

function given(id: number | bigint, from = `key-${id}`): Parameters<Names_of_allClient["returnAll"]>[0] {
  return {
    from,
    str,
    id,
    int: -(2n ** 63n),
    class: "None",
    lambda: "while",
    Lambda: "λ\u2028",
    timeout: new Date(Date.UTC(2030, 0, 1, 9, 30, 15, 250)),
    day: "2030-02-28",
    amount: "-1234567890123456.7890",
    price: "0.10",
    blob: Uint8Array.from({ length: 40 }, (_, at) => at),
    flag: true,
    tags: ["a", "é"],
    many: [Colour.Red, Colour.Green],
    _private: 2n ** 64n - 1n,
    __mangled: "",
  };
}

const shown: Record<string, unknown> = { contract: CONTRACT };

async function refused(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return "nothing was refused";
  } catch (error) {
    return error instanceof TreadleError ? `${error.code}: ${error.message}` : String(error);
  }
}

async function main(): Promise<void> {
  const client = new Names_of_allClient(url, { token, instance: "node/1" });
  shown["made"] = await client.returnAll(given(1));
  shown["again"] = await client.returnAll(given(1));
  shown["exists"] = await client.returnAll(given(1, "other"));
  shown["read"] = await client.returnAll_({ str, id: 1n });
  shown["absent"] = await client.returnAll_({ str, id: 9 });
  const outcomes = [await client.run_({ key: newKey(), str, id: 1, by: 999 }), await client.run("run", { key: newKey(), str, id: 9, by: 1 })];
  shown["amounts"] = outcomes.map(amount);
  const row = { str, id: 1, int: 5, class: "title", Lambda: "", day: "2030-01-01", amount: "1", price: "1", blob: new Uint8Array(), flag: true, tags: [] } as const;
  shown["copied"] = (await client.copy({ key: "c", str, rows: [row] })).outcome;
  shown["told"] = [];
  const told = shown["told"] as number[][];
  const batch = [...Array.from({ length: 1_200 }, (_, at) => ({ command: "return_all", input: given(at + 100) }) as const), { command: "return_all", input: given(1, "") } as const];
  const answers = await client.runMany(batch, { progress: (done, all) => told.push([done, all]) });
  shown["batch"] = answers.filter((one) => !(one instanceof TreadleError) && one.outcome === "class").length;
  shown["empty key"] = answers.at(-1) instanceof TreadleError ? (answers.at(-1) as TreadleError).code : "";
  shown["page"] = await client.class_({ str, self: 1 });
  const pages: number[] = [];
  for await (const page of client.classPages({ str, self: 1, at_least: 1_290 })) pages.push(page.fields.page.length);
  shown["pages"] = pages;
  shown["count"] = (await client.counted({ str }, { atLeast: (await client.returnAll_({ str, id: 1 })).commit })).fields;
  shown["refused"] = [
    await refused(() => client.returnAll({ ...given(5), id: 2 ** 53 })),
    await refused(() => client.returnAll({ ...given(5), extra: 1 } as never)),
    await refused(() => client.returnAll({ ...given(5), price: "1.234" })),
    await refused(() => client.returnAll(given(6, "key-1"))),
    await refused(() => new Names_of_allClient(url).counted({ str })),
    await refused(() => new Names_of_allClient(nobody, { attempts: 2 }).counted({ str })),
  ];
  const why: Why = await client.why("Str", [str, 1n]);
  shown["why"] = [why.entity, why.key, why.exists, why.recent[0]?.you, why.lease, (await client.why("Str", [str, 99_999])).reasons[0]?.code];
  shown["no why"] = await refused(() => client.why("Rts", [str, 1]));
  client.history = "other.9";
  shown["history"] = [await refused(() => client.returnAll(given(7))), (await client.returnAll(given(1))).replayed];
  const shaky = new Names_of_allClient(proxied, { token });
  shown["lost"] = [(await shaky.returnAll(given(50))).replayed, (await shaky.runMany([{ command: "run", input: { key: "lost", str, id: 1, by: 1 } }]))[0]];
  process.stdout.write(JSON.stringify(shown, (_, value: unknown) => (typeof value === "bigint" ? `${value}n` : value instanceof Uint8Array ? [...value] : value)));
}

await main();
