import { Result } from "effect"
import { RefundBody } from "./api/Refunds.ts"
import { type Body, type BodyError, makeDecoder } from "./Body.ts"
import type { JsonTree } from "./StrictJson.ts"

const decode = makeDecoder(RefundBody)

/** The body of `POST /v1/refunds`; nothing in it is used. */
export const refundBody = (body: JsonTree): Result.Result<Body<null>, BodyError> =>
  Result.map(decode(body), ({ ignored }) => ({ command: null, fingerprint: null, ignored }))
