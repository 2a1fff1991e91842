import { Effect, Option } from "effect"
import { h } from "preact"
import { isReference, type Reference } from "../../domain/Ids.ts"
import { maskedText } from "../../domain/Masking.ts"
import { type NotDecided, ReviewDesk } from "../../services/console/ReviewDesk.ts"
import { Proposals } from "../../services/ports/Proposals.ts"
import { link } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { type Answer, page, redirect, type Visit } from "../Route.ts"

const LONGEST_NOTE = 200

/** What a second person decides. */
export const makeDecisions = Effect.gen(function* () {
  const desk = yield* ReviewDesk
  const proposals = yield* Proposals

  const decided = (visit: Visit, notice: string, decide: (id: Reference) => Effect.Effect<void, NotDecided>) =>
    Effect.gen(function* () {
      const id = visit.params["id"] ?? ""
      const found = isReference(id) ? yield* proposals.find(id) : Option.none()
      if (Option.isNone(found)) return refused("There is no such proposal.")
      return yield* decide(found.value.id).pipe(
        Effect.map((): Answer => redirect("/reviews", notice)),
        Effect.catchTag("NotDecided", ({ message }) => Effect.succeed(refused(message)))
      )
    })

  const acting = ({ at, visitor }: Visit) => ({ by: visitor.name, at })

  const approve = Effect.fn("Decisions.approve")((visit: Visit) =>
    decided(visit, "approved", (id) => desk.approve(id, acting(visit)))
  )

  const dismiss = Effect.fn("Decisions.dismiss")((visit: Visit) => {
    const note = maskedText((visit.form.get("note") ?? "").trim().slice(0, LONGEST_NOTE))
    return decided(visit, "dismissed", (id) => desk.dismiss(id, acting(visit), note))
  })

  return {
    place: null,
    routes: [
      { method: "POST", path: "/proposals/:id/approve", permission: "approve", answer: approve },
      { method: "POST", path: "/proposals/:id/dismiss", permission: "resolve", answer: dismiss }
    ]
  } satisfies Room
})

const refused = (message: string): Answer =>
  page(
    "Nothing was decided",
    [h("p", { class: "warning", role: "alert" }, message), h("p", null, link("/reviews", "All reviews"))],
    {
      status: 409
    }
  )
