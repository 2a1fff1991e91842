import { describe, expect, it } from "vitest"
import { Gateway, type GatewayError, isGatewayError } from "../../clients/typescript/src/Gateway.ts"

const key = { app_id: "shop", key_id: "k1", api_key: "ak", signing_secret: "ss" }
const money = { idempotencyKey: "order-7" }
const body = {
  amount_minor: 10_000n,
  currency: "UGX",
  country: "UG",
  method: "momo",
  destination: { type: "momo", msisdn: "256772123456", network: "MTN", country: "UG" }
} as const

const success = (data: unknown, status = 200) => Response.json({ code: status, message: "ok", data }, { status })
const refusal = (status: number, code: string, errorClass: string, details: object = {}) =>
  Response.json(
    {
      code: status,
      message: "no",
      error: {
        code,
        message: "no",
        terminal: errorClass === "terminal",
        retriable: errorClass === "retriable",
        ambiguous: errorClass === "ambiguous",
        details
      }
    },
    { status }
  )
const limited = (retryAfter: string) => {
  const answer = refusal(429, "rate_limited", "retriable")
  answer.headers.set("Retry-After", retryAfter)
  return answer
}
const silence = (): Response => {
  throw new TypeError("fetch failed")
}

/** A client whose requests get these answers, one after the other, and then the last one again and again. */
const answered = (...answers: ReadonlyArray<() => Response>) => {
  const requests: Array<Request> = []
  const send: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    requests.push(request)
    init?.signal?.throwIfAborted()
    const answer = answers[Math.min(requests.length, answers.length) - 1]
    return answer === undefined ? Response.error() : answer()
  }
  const retries = { attempts: 5, pauseMs: 1, longestPauseMs: 2, withinMs: 1000 }
  return { requests, gateway: new Gateway({ url: "https://api.gateway.example", key, retries, fetch: send }) }
}

const failure = async (call: Promise<unknown>): Promise<GatewayError> => {
  const error: unknown = await call.then(
    () => undefined,
    (error: unknown) => error
  )
  if (isGatewayError(error)) return error
  throw error
}
const told = async (call: Promise<unknown>) => {
  const { class: errorClass, code, reference } = await failure(call)
  return [errorClass, code, reference]
}

const reference = "AAA688MG9KT6BQ76F4NM4BJRH5"
const pending = { reference, status: "pending" }

describe("the TypeScript client", () => {
  it("never sends again what is terminal", async () => {
    const { gateway, requests } = answered(() =>
      refusal(422, "amount_below_minimum", "terminal", { minimum_minor: 500, method: "momo" })
    )
    expect(await told(gateway.payouts.create(body, money))).toEqual(["terminal", "amount_below_minimum", undefined])
    expect(requests.length).toBe(1)
  })

  it("sends again what is retriable, with the same key, a bounded number of times", async () => {
    const { gateway, requests } = answered(() => refusal(422, "global_ceiling_reached", "retriable"))
    expect(await told(gateway.payouts.create(body, money))).toEqual(["retriable", "global_ceiling_reached", undefined])
    expect(requests.map(({ headers }) => headers.get("Idempotency-Key"))).toEqual(Array.from({ length: 5 }, () => "order-7"))
  })

  it("gives up at once where it would have to wait longer than it may", async () => {
    const { gateway, requests } = answered(() => limited("3600"))
    const error = await failure(gateway.account.float())
    expect([error.code, error.retryAfterSeconds, requests.length]).toEqual(["rate_limited", 3600, 1])
  })

  it("waits as long as Retry-After says, as seconds and as a date", async () => {
    for (const after of ["0.05", new Date(Date.now() + 1000).toUTCString()]) {
      const { gateway } = answered(
        () => limited(after),
        () => success([])
      )
      const begun = performance.now()
      await gateway.account.float()
      expect(performance.now() - begun).toBeGreaterThan(after === "0.05" ? 45 : 0)
    }
  })

  it("asks the payer, and not the gateway, for another code", async () => {
    const { gateway, requests } = answered(() => refusal(422, "otp_incorrect", "retriable", { reference, attempts_remaining: 2 }))
    const source = { type: "momo", msisdn: "256772001234", network: "MTN" } as const
    const authorization = { type: "otp", otp: { pin_id: "p", pin: "1" } } as const
    expect(await told(gateway.collections.authorize(reference, { authorization, source }, money))).toEqual([
      "retriable",
      "otp_incorrect",
      reference
    ])
    expect(requests.length).toBe(1)
  })

  it("says that the outcome is unknown where a later refusal proves nothing of an earlier attempt", async () => {
    const { gateway } = answered(silence, () => refusal(429, "rate_limited", "retriable"))
    expect(await told(gateway.payouts.create(body, money))).toEqual(["ambiguous", "no_answer", undefined])
  })

  it("reports a terminal refusal after silence only once it settles the key", async () => {
    const refused = () => refusal(422, "insufficient_tenant_float", "terminal")
    const kept = () => {
      const answer = refused()
      answer.headers.set("Idempotency-Replayed", "true")
      return answer
    }
    const rejected = () => refusal(422, "payout_rejected_by_provider", "terminal", { reference, failure_code: "unknown" })
    const reused = () => refusal(422, "idempotency_key_reused", "terminal")
    const seen = async (...answers: ReadonlyArray<() => Response>) => {
      const { gateway, requests } = answered(...answers)
      return [...(await told(gateway.payouts.create(body, money))), requests.length]
    }
    expect(await seen(silence, refused, kept)).toEqual(["terminal", "insufficient_tenant_float", undefined, 3])
    expect(await seen(silence, rejected)).toEqual(["terminal", "payout_rejected_by_provider", reference, 2])
    expect(await seen(silence, reused)).toEqual(["ambiguous", "no_answer", undefined, 5])
    expect((await failure(answered(reused).gateway.payouts.create(body, money))).settlesKey).toBe(false)
    expect((await failure(answered(kept).gateway.payouts.create(body, money))).settlesKey).toBe(true)
  })

  it("calls silence ambiguous where money may have moved, and retriable where it was a question", async () => {
    const { gateway } = answered(silence)
    expect(await told(gateway.payouts.create(body, money))).toEqual(["ambiguous", "no_answer", undefined])
    expect(await told(gateway.payouts.quote(body))).toEqual(["retriable", "no_answer", undefined])
  })

  it("waits for an answer as long as it is told, and no longer", async () => {
    const send: typeof fetch = (_, init) =>
      new Promise((_, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)))
    const retries = { attempts: 2, pauseMs: 1 }
    const gateway = new Gateway({ url: "https://api.gateway.example", key, fetch: send, timeoutMs: 5, retries })
    expect(await told(gateway.payouts.create(body, money))).toEqual(["ambiguous", "no_answer", undefined])
    const patient = new Gateway({ url: "https://api.gateway.example", key, fetch: send })
    expect(await told(patient.payouts.waitFor(reference, { timeoutMs: 20 }))).toEqual(["ambiguous", "still_open", reference])
  })

  it("does not send twice, after silence, what has its effect each time", async () => {
    const { gateway, requests } = answered(silence)
    expect(await told(gateway.webhooks.rotateSecret())).toEqual(["ambiguous", "no_answer", undefined])
    expect(requests.length).toBe(1)
  })

  it("believes no answer that is not the gateway's", async () => {
    for (const answer of [
      () => new Response("<h1>Bad Gateway</h1>", { status: 502 }),
      () => new Response("null"),
      () => new Response('{"code":200,"message":"ok"', { status: 200 }),
      () => Response.json({ code: 200, message: "ok", data: pending }, { status: 202 }),
      () => Response.json({ code: 422, error: { code: "x", terminal: true, retriable: true, details: {} } }, { status: 422 }),
      () => new Response(null, { status: 302, headers: { Location: "https://other.example" } })
    ])
      expect(await told(answered(answer).gateway.payouts.create(body, money))).toEqual(["ambiguous", "no_answer", undefined])
  })

  it("reads the record that an ambiguous answer names", async () => {
    for (const named of [
      () => refusal(503, "provider_timeout", "ambiguous", { reference }),
      () => refusal(409, "request_in_progress", "retriable", { reference })
    ]) {
      const { gateway, requests } = answered(named, () => success(pending))
      expect(await gateway.payouts.create(body, money)).toEqual(pending)
      expect(requests.map(({ method, url }) => `${method} ${new URL(url).pathname}`)).toEqual([
        "POST /v1/payouts",
        `GET /v1/payouts/${reference}`
      ])
      expect(await told(answered(named, silence).gateway.payouts.create(body, money))).toEqual([
        "ambiguous",
        expect.any(String),
        reference
      ])
    }
  })

  it("takes the charge that the double-charge guard names for no charge of this call", async () => {
    const details = { reference, status: "pending", amount_minor: 1, currency: "UGX", metadata: {}, created_at: "" }
    const { gateway, requests } = answered(() => refusal(409, "duplicate_charge_in_flight", "ambiguous", details))
    const charge = { ...body, source: { type: "momo", msisdn: "256772001234", network: "MTN" } } as const
    expect(await told(gateway.collections.create(charge, money))).toEqual(["ambiguous", "duplicate_charge_in_flight", reference])
    expect(requests.length).toBe(1)
  })

  it("waits until the outcome is known, also where a question fails on the way", async () => {
    const settled = { reference, status: "successful" }
    const { gateway } = answered(
      () => success(pending),
      ...Array.from({ length: 6 }, () => silence),
      () => success(settled)
    )
    expect(await gateway.payouts.waitFor(reference, { pauseMs: 1 })).toEqual(settled)
    const contested = answered(
      () => success({ reference, status: "failed", needs_review: true }),
      () => success(settled)
    )
    expect(await contested.gateway.payouts.waitFor(reference, { pauseMs: 1 })).toEqual(settled)
    const never = answered(() => success(pending)).gateway
    expect(await told(never.payouts.waitFor(reference, { pauseMs: 1, timeoutMs: 5 }))).toEqual([
      "ambiguous",
      "still_open",
      reference
    ])
    const absent = answered(() => refusal(404, "not_found", "terminal")).gateway
    expect(await told(absent.payouts.waitFor(reference))).toEqual(["terminal", "not_found", undefined])
  })

  it("stops at its caller's signal, and says whether money may have moved", async () => {
    const reason = new Error("the shop is closing")
    const stopped = AbortSignal.abort(reason)
    const { gateway, requests } = answered(() => success(pending))
    await expect(gateway.payouts.create(body, { ...money, signal: stopped })).rejects.toBe(reason)
    expect(requests.length).toBe(0)
    const later = new AbortController()
    const during = answered(() => {
      later.abort(reason)
      return silence()
    }).gateway
    const error = await failure(during.payouts.create(body, { ...money, signal: later.signal }))
    expect([error.class, error.code, error.cause]).toEqual(["ambiguous", "aborted", reason])
    const waiting = AbortSignal.timeout(5)
    await expect(gateway.payouts.waitFor(reference, { signal: waiting })).rejects.toMatchObject({ name: "TimeoutError" })
  })

  it("lets a mistake of its caller be one", async () => {
    const { gateway, requests } = answered(() => success(pending))
    await expect(gateway.payouts.create(body, { idempotencyKey: "a\nb" })).rejects.toThrow(TypeError)
    expect(() => new Gateway({ url: "https://api.gateway.example/v1", key })).toThrow(TypeError)
    // The runtime refuses such a header, too, and shows all of it.
    for (const part of ["app_id", "key_id", "api_key", "signing_secret"] as const)
      for (const value of [`${key[part]}\n`, "", `${key[part]} x`, Object(undefined)])
        expect(() => new Gateway({ url: "https://api.gateway.example", key: { ...key, [part]: value } })).toThrow(
          `the key's ${part} is not as it was printed: is there a blank or a newline in it?`
        )
    expect(requests.length).toBe(0)
  })
})
