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

/** Older ones leave the list (and stay in the file). */
const KEPT_CALLS = 100_000

/** Every call that the providers received, whatever became of it. */
export interface CallLog {
  readonly record: (provider: string, request: SimulatedRequest) => Effect.Effect<void>
  /** Those whose path or body names the reference; all without one. Oldest first. */
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
      // A provider may want it in small letters.
      const forms = [reference, reference.toLowerCase()]
      return calls.filter(({ body, path }) => forms.some((form) => body.includes(form) || path.includes(form)))
    }
  }
})
