import { Option, Result } from "effect"
import { defaultSubscription } from "../domain/Event.ts"
import { type Instant, instantOf } from "../domain/Instant.ts"
import type { EndpointCommand } from "../services/webhooks/Webhooks.ts"
import { EndpointBody, RecoverBody } from "./api/Webhooks.ts"
import { type Body, type BodyError, invalid, makeDecoder } from "./Body.ts"
import type { JsonTree } from "./StrictJson.ts"

const NO_MOMENT = "must be a moment in UTC such as 2026-01-31T12:00:00.000Z"

const decodeEndpoint = makeDecoder(EndpointBody)
const decodeRecover = makeDecoder(RecoverBody)

/** The body of `PUT /v1/webhooks/endpoint`. */
export const endpointBody = (body: JsonTree): Result.Result<Body<EndpointCommand>, BodyError> =>
  Result.map(decodeEndpoint(body), ({ ignored, wire }) => {
    const command = { url: wire.url, events: wire.events ?? defaultSubscription, enabled: wire.enabled ?? true }
    return { command, fingerprint: command, ignored }
  })

/** The body of `POST /v1/webhooks/recover`. */
export const recoverBody = (body: JsonTree): Result.Result<Body<Instant>, BodyError> =>
  Result.gen(function* () {
    const { ignored, wire } = yield* decodeRecover(body)
    const since = instantOf(wire.since)
    if (Option.isNone(since)) return yield* invalid([{ path: "since", message: NO_MOMENT }])
    return { command: since.value, fingerprint: since.value, ignored }
  })
