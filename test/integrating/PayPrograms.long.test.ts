import { spawn } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect } from "vitest"
import { read as fileAt } from "../documents/Pages.ts"
import { itWith } from "../support/Installed.ts"
import { accepted, contested, falseFront, http, read, refused, silence, wrongAnswers } from "./FalseFront.ts"
import { fileOf } from "./PageExamples.ts"

const refusal = refused(422, "insufficient_tenant_float", "terminal")
const replayed = refused(422, "insufficient_tenant_float", "terminal", { headers: ["Idempotency-Replayed: true"] })
const wait = refused(429, "rate_limited", "retriable", { headers: ["Retry-After: 1"] })
const rejected = refused(422, "payout_rejected_by_provider", "terminal", { details: { reference: "R" } })

/** What a payment's requests are answered, and what the program has to make of it after how many requests. */
const payments: Readonly<
  Record<string, { readonly answers: ReadonlyArray<string>; readonly ends: string; readonly sent?: number }>
> = {
  spoiled: {
    answers: [...wrongAnswers, accepted("spoiled", "pending"), ...wrongAnswers, read("spoiled", "successful")],
    ends: "successful",
    sent: 2 * wrongAnswers.length + 2
  },
  reused: { answers: ["", refused(422, "idempotency_key_reused", "terminal")], ends: "open idempotency_key_reused", sent: 4 },
  refusedLater: { answers: ["", refusal, replayed], ends: "refused insufficient_tenant_float", sent: 3 },
  rejected: { answers: [rejected], ends: "refused payout_rejected_by_provider", sent: 1 },
  failedLater: { answers: [accepted("failedLater", "pending"), read("failedLater", "failed")], ends: "failed", sent: 2 },
  contested: {
    answers: [accepted("contested", "pending"), contested("contested"), read("contested", "successful")],
    ends: "successful",
    sent: 3
  },
  unsigned: { answers: [refused(401, "unauthorized", "retriable")], ends: "open unauthorized", sent: 3 },
  unknown: { answers: [accepted("unknown", "pending"), refused(404, "not_found", "terminal")], ends: "open not_found", sent: 4 },
  told: { answers: [wait, accepted("told", "successful")], ends: "successful, after a second", sent: 2 },
  pending: { answers: [accepted("pending", "pending"), read("pending", "pending")], ends: "open /v1/payouts/pending" },
  silent: { answers: [silence], ends: "open /v1/payouts" },
  page: { answers: [http(503, "<html>")], ends: "open /v1/payouts" }
}
/** These have less than half a second; the others are never kept waiting so long. */
const IMPATIENT = "pending silent page"

/** JSON that a program which reads it and writes it again would change. */
const BODY = '{"metadata":{},"order":12345678901234567890,"weight":1.0}'

const python = `import sys, time
import pay
for name in sys.argv[1:]:
    began = time.monotonic()
    try:
        ended = pay.pay(b'${BODY}', name, 0.4 if name in "${IMPATIENT}" else 20)["status"]
    except pay.Refused as reason:
        ended = f"refused {reason}"
    except pay.StillOpen as reason:
        ended = f"open {reason}"
    took = time.monotonic() - began
    late = ", after a second" if 1 <= took and ended == "successful" and name == "told" else ", too late" if took > 5 else ""
    print(name, ended + late, sep=": ")
`
const php = `<?php
require 'pay.php';
foreach (array_slice($argv, 1) as $name) {
    $began = microtime(true);
    try {
        $ended = pay('${BODY}', $name, str_contains('${IMPATIENT}', $name) ? 0.4 : 20)['status'];
    } catch (Refused $reason) {
        $ended = "refused {$reason->getMessage()}";
    } catch (StillOpen $reason) {
        $ended = "open {$reason->getMessage()}";
    }
    $took = microtime(true) - $began;
    $late = 1 <= $took && $ended === 'successful' && $name === 'told' ? ', after a second' : ($took > 5 ? ', too late' : '');
    echo "$name: $ended$late\\n";
}
`
const key = { app_id: "shop", key_id: "k_1", api_key: "ak_1", signing_secret: "ss_1" }
const hasty = (text: string): string =>
  text.replace("pause * random.uniform", "0.01 * random.uniform").replace("$pause * random_int", "0.01 * random_int")

const pays = async (program: string, ending: string, driver: string) => {
  const folder = await mkdtemp(join(tmpdir(), "paying-"))
  const front = await falseFront(Object.fromEntries(Object.entries(payments).map(([name, { answers }]) => [name, answers])))
  try {
    const files = {
      "key.json": JSON.stringify(key),
      [`sign.${ending}`]: fileAt(`clients/signing/sign.${ending}`),
      [`gateway.${ending}`]: fileOf("start", `gateway.${ending}`),
      [`pay.${ending}`]: hasty(fileOf("idempotency-and-retries", `pay.${ending}`)),
      [`driver.${ending}`]: driver
    }
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
    const { errors, printed } = await output(program, [`driver.${ending}`, ...Object.keys(payments)], folder, front.url)
    const wanted = Object.entries(payments).map(([name, { ends }]) => `${name}: ${ends}`)
    expect([printed.trim().split("\n"), errors.includes("Traceback") || errors.includes("PHP ")]).toEqual([wanted, false])
    const sent = Object.entries(payments).filter((one) => one[1].sent !== undefined)
    expect(sent.map(([name]) => [name, front.asked.get(name)?.length])).toEqual(sent.map(([name, one]) => [name, one.sent]))
    const posts = [...front.asked.values()].flat().filter(({ line }) => line.startsWith("POST"))
    expect(new Set(posts.map(({ line, body }) => `${line} ${body}`))).toEqual(new Set([`POST /v1/payouts HTTP/1.1 ${BODY}`]))
    expect([...front.asked.keys()].toSorted()).toEqual(Object.keys(payments).toSorted())
  } finally {
    front.close()
    await rm(folder, { recursive: true, force: true })
  }
}

const output = (program: string, args: ReadonlyArray<string>, cwd: string, gateway: string) =>
  new Promise<{ readonly printed: string; readonly errors: string }>((done) => {
    const child = spawn(program, args, { cwd, env: { PATH: process.env["PATH"], GATEWAY: gateway }, timeout: LONG_MS })
    const [printed, errors]: [Array<Buffer>, Array<Buffer>] = [[], []]
    child.stdout.on("data", (part) => printed.push(part))
    child.stderr.on("data", (part) => errors.push(part))
    child.once("close", () => done({ printed: `${Buffer.concat(printed)}`, errors: `${Buffer.concat(errors)}` }))
  })

/** On a machine that has much else to do. */
const LONG_MS = 240_000

describe.concurrent("the paying program of docs/integrating undoes nothing that may have been paid, and ends in time, whatever it is answered", () => {
  itWith("python3", "--version")("in Python", () => pays("python3", "py", python), LONG_MS)
  itWith("php", "--version")("in PHP", () => pays("php", "php", php), LONG_MS)
})
