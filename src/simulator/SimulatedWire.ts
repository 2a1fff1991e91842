import { Clock, Effect, Redacted } from "effect"
import { pathPattern } from "../runtime/PathPattern.ts"
import type { Merchant, MerchantCall } from "./Call.ts"
import { playOf } from "./Endings.ts"
import type { SimulatedTransaction } from "./Facts.ts"
import { type ErrorResponses, page, passGate, type Stop, withFault } from "./Responses.ts"
import type { SimulatedProvider, SimulatedRequest, SimulatedResponse, SimulatorContext } from "./SimulatedProvider.ts"

/** The wire of one provider. Everything else is the same for every provider, and is in this file. */
export interface SimulatedWire<M extends Merchant> {
  readonly name: string
  /** The path that its base URL ends in, where it has one. */
  readonly mount?: string
  readonly accounts: ReadonlyArray<Merchant>
  readonly errors: ErrorResponses
  /** Its response to a call when there are too many. */
  readonly tooMany: SimulatedResponse
  readonly routes: WireEndpoints<MerchantCall<M>>
  /** Finds the merchant of a request. `line` is the method and the path below the mount; empty where the path is not below it. */
  readonly authenticate: (request: SimulatedRequest, line: string, now: number) => Effect.Effect<M, Stop>
  readonly unknownAddress: Stop
  /** An unknown address is refused before authentication. */
  readonly refusesAddressFirst?: boolean
  readonly payerPage?: PayerPage
  readonly callback: SimulatedProvider["callback"]
  readonly sign?: SimulatedProvider["sign"]
  readonly orders?: NonNullable<SimulatedProvider["orders"]>
}

interface WireEndpoint<Call> {
  readonly endpoint: (call: Call, parameter: string) => Effect.Effect<SimulatedResponse, Stop>
  /** The name by which the control port chooses the ending of the next call; absent where a number in the call chooses it. */
  readonly operation?: string
  /** The endpoint reads the chosen ending itself. */
  readonly playsItself?: boolean
}

/** By method and path below the mount; `*` is one segment, whose text is the parameter. The first match counts. */
export type WireEndpoints<Call> = Readonly<Record<string, WireEndpoint<Call>>>

/** The page of the provider that a payer is sent to. Visiting it pays, once. */
interface PayerPage {
  /** Its group is the transaction. */
  readonly path: RegExp
  readonly missing: SimulatedResponse
  readonly isFor?: (transaction: SimulatedTransaction) => boolean
  /** The link back to the shop. */
  readonly backTo?: (transaction: SimulatedTransaction) => string
}

type Claim = MerchantCall["claim"]

const ANYTHING = /./

export const simulatedWire = <M extends Merchant>(wire: SimulatedWire<M>): SimulatedProvider => {
  const { accounts, callback, mount = "", name, orders = {}, sign, tooMany } = wire
  const patterns = Object.entries(wire.routes).map(([pattern, route]) => ({
    route,
    read: pathPattern(pattern.replace("*", ":parameter"), ANYTHING)
  }))
  const routeOf = (line: string) => {
    const parts = line.split("/")
    for (const { read, route } of patterns) {
      const found = read(parts)
      if (found !== undefined) return { route, parameter: found["parameter"] ?? "" }
    }
    return undefined
  }
  return {
    name,
    mount,
    accounts,
    operations: [...new Set(patterns.flatMap(({ route }) => route.operation ?? []))],
    tooMany,
    callback,
    orders,
    ...(sign === undefined ? {} : { sign }),
    handler: (context) => {
      const claim = onceOnly()
      return Effect.fnUntraced(
        function* (request: SimulatedRequest) {
          const id = request.method === "GET" ? wire.payerPage?.path.exec(request.path)?.[1] : undefined
          if (wire.payerPage !== undefined && id !== undefined)
            return yield* visitPage(wire, wire.payerPage, context.account.transaction(name, id), { context, claim })
          const line = lineOf(mount, request)
          const found = routeOf(line)
          if (found === undefined && wire.refusesAddressFirst === true) return yield* wire.unknownAddress
          const now = yield* Clock.currentTimeMillis
          const merchant = yield* wire.authenticate(request, line, now)
          if (found === undefined) return yield* wire.unknownAddress
          const call = { provider: name, errors: wire.errors, context, merchant, request, now, claim }
          return yield* callEndpoint(found.route, call, found.parameter)
        },
        Effect.catchTag("Stop", (stop) => Effect.succeed(stop.response))
      )
    }
  }
}

const callEndpoint = Effect.fnUntraced(function* <Call extends MerchantCall>(
  route: WireEndpoint<Call>,
  call: Call,
  parameter: string
) {
  const { endpoint, operation, playsItself = false } = route
  if (operation === undefined || playsItself) return yield* endpoint(call, parameter)
  const play = playOf("payout", call.context.chosen(operation))
  yield* passGate(call.errors, play)
  return withFault(call.errors, play.responseFault, yield* endpoint(call, parameter))
})

const visitPage = Effect.fnUntraced(function* (
  { errors }: { readonly errors: ErrorResponses },
  { backTo, isFor, missing }: PayerPage,
  transaction: SimulatedTransaction | undefined,
  { claim, context }: { readonly context: SimulatorContext; readonly claim: Claim }
) {
  if (transaction === undefined || isFor?.(transaction) === false) return missing
  const back = backTo === undefined ? "" : `<a href="${backTo(transaction).replace(/[&"<>]/g, "")}">Back to the shop</a>`
  const done = page(`<p>Payment completed</p>${back}`)
  if (!transaction.awaitsPayer || !claim(`page/${transaction.id}`)) return done
  return withFault(errors, yield* context.completeByPayer(transaction), done)
})

/** The events that may happen only once: true the first time that a key is seen in this process. */
const onceOnly = (): Claim => {
  const seen = new Set<string>()
  return (key) => {
    if (seen.has(key)) return false
    seen.add(key)
    return true
  }
}

const lineOf = (mount: string, { method, path }: SimulatedRequest): string => {
  const whole = path.replace(/\/$/, "")
  return whole.startsWith(`${mount}/`) ? `${method} ${whole.slice(mount.length)}` : ""
}

export const bearerOf = (request: SimulatedRequest): string | undefined =>
  /^Bearer (\S+)$/i.exec(request.header("authorization") ?? "")?.[1]

/** Whether a request has these credentials in HTTP Basic authentication. */
export const showsBasic = (request: SimulatedRequest, user: string, password: Redacted.Redacted): boolean =>
  /^Basic (\S+)$/i.exec(request.header("authorization") ?? "")?.[1] ===
  Buffer.from(`${user}:${Redacted.value(password)}`).toString("base64")

interface SecretKey<M> {
  readonly secretOf: (account: M) => Redacted.Redacted
  /** Absent: the secret is a bearer token. */
  readonly given?: (request: SimulatedRequest) => string | undefined
  readonly unknown: Stop
  /** The refusal where no secret is given; by default the same as for an unknown one. */
  readonly absent?: Stop
}

/** For a provider whose accounts send a secret with every call. */
export const bySecret =
  <M extends Merchant>(accounts: ReadonlyArray<M>, { absent, given = bearerOf, secretOf, unknown }: SecretKey<M>) =>
  (request: SimulatedRequest): Effect.Effect<M, Stop> => {
    const secret = given(request)
    if (secret === undefined && absent !== undefined) return Effect.fail(absent)
    const account = accounts.find((one) => Redacted.value(secretOf(one)) === secret)
    return account === undefined ? Effect.fail(unknown) : Effect.succeed(account)
  }
