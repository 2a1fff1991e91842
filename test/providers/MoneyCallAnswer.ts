import { type FactWithAlarm, withoutAlarm } from "../../src/providers/AnswerParsing.ts"
import type { MoneyCallAnswer } from "../../src/providers/Movements.ts"

/** What the answer to a call that moves money comes to, where it takes a lookup and that finds nothing. */
export const unlessFound = <F>(placed: MoneyCallAnswer<F>): FactWithAlarm<F> =>
  "confirm" in placed ? placed.confirm(withoutAlarm({ _tag: "NotFound", note: "nothing by our reference" })) : placed
