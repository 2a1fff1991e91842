import { Context, Effect, type Exit, Fiber, Option, Redacted } from "effect"
import type { NamedValue } from "../../domain/Denylist.ts"
import { DestinationBlocked, ScreeningDenied } from "../../domain/errors/Terminal.ts"
import { msisdnAsWritten } from "../../domain/Msisdn.ts"
import { type Destination, type MomoParty, nameOf, type PayerDetails } from "../../domain/Party.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { inSpan } from "../../runtime/Tracing.ts"
import { Denylist } from "../ports/Denylist.ts"
import type { FreshClaim } from "../ports/Idempotency.ts"
import { Screening } from "../ports/Screening.ts"

export type PartyRefusal = DestinationBlocked | ScreeningDenied

/** A claimed key with the result of the screening that ran meanwhile. Without `screened`, the holder of the claim screens. */
export interface ScreenedClaim extends FreshClaim {
  readonly screened?: Exit.Exit<void, PartyRefusal>
}

/** 403: blocked destinations and screening, before any provider is called. */
export class PartyScreening extends Context.Service<
  PartyScreening,
  {
    readonly recipient: (destination: Destination) => Effect.Effect<void, PartyRefusal>
    readonly payer: (source: MomoParty, payer: PayerDetails | null) => Effect.Effect<void, ScreeningDenied>
  }
>()("gateway/services/PartyScreening") {
  static readonly layer = layerOf(PartyScreening)(function* () {
    const denials = yield* Denylist
    const screening = yield* Screening

    const recipient = Effect.fnUntraced(function* (destination: Destination) {
      const numbers = numbersOf(destination)
      const names = [nameOf(destination)].filter(isGiven)
      // In parallel, so that the request waits for the slower of both only.
      const screened = yield* Effect.forkChild(screening.check({ numbers, names }), { startImmediately: true })
      const blocked = yield* denials.matches([{ kind: "destination", values: numbers }])
      if (blocked.size > 0) {
        yield* Fiber.interrupt(screened)
        return yield* new DestinationBlocked({})
      }
      if ((yield* Fiber.join(screened)) === "denied") return yield* new ScreeningDenied({})
    }, inSpan("PartyScreening.recipient"))

    const payer = Effect.fn("PartyScreening.payer")(function* (source: MomoParty, details: PayerDetails | null) {
      const phone = details?.phone ? phoneOf(details.phone, source.country) : null
      const numbers = [
        ...[source.msisdn, phone].filter(isGiven).map(ofPhone),
        ...[details?.email ?? null].filter(isGiven).map((value): NamedValue => ({ value, party: null }))
      ]
      const names = [details?.firstName ?? null, details?.lastName ?? null].filter(isGiven)
      const whole = names.length === 2 ? [joined(names)] : []
      if ((yield* screening.check({ numbers, names: [...names, ...whole] })) === "denied") return yield* new ScreeningDenied({})
    })

    return { recipient, payer }
  })
}

const isGiven = (value: Redacted.Redacted | null): value is Redacted.Redacted => value !== null

/** A tenant's contact number of its payer may be in national format, in the country of the charge. */
const phoneOf = (text: Redacted.Redacted, country: string): Redacted.Redacted =>
  Option.match(msisdnAsWritten(Redacted.value(text), country), { onNone: () => text, onSome: (number) => Redacted.make(number) })

const joined = (names: ReadonlyArray<Redacted.Redacted>): Redacted.Redacted =>
  Redacted.make(names.map((name) => Redacted.value(name)).join(" "))

const ofPhone = (value: Redacted.Redacted): NamedValue => ({ value, party: "phone" })

const numbersOf = (destination: Destination): ReadonlyArray<NamedValue> => {
  switch (destination._tag) {
    case "momo":
      return [ofPhone(destination.msisdn)]
    case "bank":
      return [{ value: destination.accountNumber, party: "account" }, ...[destination.msisdn].filter(isGiven).map(ofPhone)]
    case "wallet":
      return [{ value: destination.value, party: destination.identifier === "msisdn" ? "phone" : null }]
  }
}
