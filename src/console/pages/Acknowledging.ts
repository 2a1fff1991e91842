import { Effect, Option } from "effect"
import { isReference } from "../../domain/Ids.ts"
import { maskedText } from "../../domain/Masking.ts"
import { ACKNOWLEDGED_HOURS, Acknowledgements, restingUntil } from "../../services/ports/Acknowledgements.ts"
import { LONGEST_ACKNOWLEDGEMENT } from "../AcknowledgeForm.ts"
import type { Room } from "../Handler.ts"
import { type Answer, auditOf, redirect, type Visit } from "../Route.ts"

/** Somebody says that they look after an open transaction, as `review acknowledge` does. */
export const makeAcknowledging = Effect.gen(function* () {
  const acknowledgements = yield* Acknowledgements

  const acknowledge = Effect.fn("Acknowledging.acknowledge")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const { at, form, params } = visit
    const reference = params["reference"] ?? ""
    const back = form.get("back") === `/reviews/${reference}` ? `/reviews/${reference}` : `/transactions/${reference}`
    const note = maskedText((form.get("taken") ?? "").trim().slice(0, LONGEST_ACKNOWLEDGEMENT))
    if (note === "") return redirect(back, "reason-missing")
    const hours = hoursOf(form.get("hours") ?? "")
    if (hours === null) return redirect(back, "hours-wrong")
    const audit = auditOf(visit, "review acknowledge", reference, { note, hours: String(hours) })
    const found = isReference(reference)
      ? yield* acknowledgements.acknowledge(reference, restingUntil(at, hours), audit)
      : Option.none()
    return redirect(back, Option.isSome(found) ? "acknowledged" : "not-open")
  })

  return {
    place: null,
    routes: [{ method: "POST", path: "/transactions/:reference/acknowledge", permission: "resolve", answer: acknowledge }]
  } satisfies Room
})

const hoursOf = (text: string): number | null => {
  const hours = /^\d{1,2}$/.test(text) ? Number(text) : 0
  return hours >= 1 && hours <= ACKNOWLEDGED_HOURS.most ? hours : null
}
