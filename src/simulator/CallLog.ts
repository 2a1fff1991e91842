import { join } from "node:path"
import { DateTime, Effect, Schema, type Scope } from "effect"
import { openAppendOnlyFile } from "./AppendOnlyFile.ts"
import type { SimulatedRequest } from "./SimulatedProvider.ts"

const Call = Schema.Struct({
  provider: Schema.String,
  method: Schema.String,
  /** With the query. */
  path: Schema.String,
  body: Schema.String,
  at: Schema.String
})
type Call = typeof Call.Type

/** The list keeps this many calls; the file keeps older ones too. */
const KEPT_CALLS = 100_000

/** Every call that the providers received, whatever the response. */
export interface CallLog {
  readonly record: (provider: string, request: SimulatedRequest) => Effect.Effect<void>
  /** The calls whose path or body contains the reference; all calls without a reference. Oldest first. */
  readonly list: (reference: string | undefined) => ReadonlyArray<Call>
}

const CallLine = Schema.fromJsonString(Call)
const decode = Schema.decodeUnknownSync(CallLine)
const encode = Schema.encodeSync(CallLine)

export const openCallLog = Effect.fn("openCallLog")(function* (dataDir: string): Effect.fn.Return<CallLog, never, Scope.Scope> {
  const file = yield* openAppendOnlyFile(join(dataDir, "simulator", "calls.jsonl"), false)
  const calls = file.lines.slice(-KEPT_CALLS).map((line) => decode(line))
  return {
    record: Effect.fnUntraced(function* (provider: string, { body, method, path, query }: SimulatedRequest) {
      const at = DateTime.formatIso(yield* DateTime.now)
      const search = query.size === 0 ? "" : `?${query.toString()}`
      const call = { provider, method, path: path + search, body, at }
      calls.push(call)
      if (calls.length > KEPT_CALLS) calls.shift()
      yield* file.append(encode(call))
    }),
    list: (reference) => {
      if (reference === undefined) return calls
      // A provider may require it in lower case.
      const forms = [reference, reference.toLowerCase()]
      return calls.filter(({ body, path }) => forms.some((form) => body.includes(form) || path.includes(form)))
    }
  }
})
