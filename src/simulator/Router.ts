import { Effect } from "effect"
import type { Stop } from "./Answers.ts"
import { type Answer, type Play, playOf } from "./Endings.ts"
import type { SimulatorContext, WireAnswer, WireRequest } from "./SimulatedProvider.ts"

export interface Route<Call> {
  /** The name by which the control port chooses its ending; absent where a number in the call does. */
  readonly operation?: string
  readonly endpoint: (call: Call, parameter: string) => Effect.Effect<WireAnswer, Stop>
}

/** By method and path below the mount. A trailing `*` is one path segment. */
export type Routes<Call> = Readonly<Record<string, Route<Call>>>

interface Found<Call> {
  readonly route: Route<Call>
  readonly parameter: string
}

export const operationsOf = (routes: Iterable<Pick<Route<never>, "operation">>): ReadonlyArray<string> => [
  ...new Set([...routes].flatMap(({ operation }) => operation ?? []))
]

/** Method and path below the mount; empty where it is not below it. */
export const lineOf = (mount: string, { method, path }: WireRequest): string => {
  const whole = path.replace(/\/$/, "")
  return whole.startsWith(`${mount}/`) ? `${method} ${whole.slice(mount.length)}` : ""
}

export const routeOf = <Call>(routes: Routes<Call>, line: string): Found<Call> | undefined => {
  const exact = routes[line]
  if (exact !== undefined) return { route: exact, parameter: "" }
  const cut = line.lastIndexOf("/") + 1
  const route = routes[`${line.slice(0, cut)}*`]
  return route === undefined ? undefined : { route, parameter: line.slice(cut) }
}

interface Manners {
  readonly passGate: (play: Play) => Effect.Effect<void, Stop>
  readonly deliver: (manner: Answer, answer: WireAnswer) => WireAnswer
}

/** A call without a number plays the ending that was chosen for its operation. */
export const answering = ({ deliver, passGate }: Manners) =>
  Effect.fnUntraced(function* <Call extends { readonly context: SimulatorContext }>(
    { parameter, route }: Found<Call>,
    call: Call
  ) {
    const { endpoint, operation } = route
    if (operation === undefined) return yield* endpoint(call, parameter)
    const play = playOf("payout", call.context.chosen(operation))
    yield* passGate(play)
    return deliver(play.answer, yield* endpoint(call, parameter))
  })

export const bearerOf = (request: WireRequest): string | undefined =>
  /^Bearer (\S+)$/i.exec(request.header("authorization") ?? "")?.[1]
