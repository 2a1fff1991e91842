import type { Bug } from "./Bug.ts"

const hostile = "test/hostile/HostileWire.test.ts"

/** Mistakes in what is made of a provider's answer that is not as its documents say. */
export const wireBugs: ReadonlyArray<Bug> = [
  {
    name: "believe the refusal of a charge that went through",
    breaks: "a refusal is believed where the provider's words prove it, and nothing is found",
    test: hostile,
    edits: [
      {
        file: "src/providers/flutterwave/Translate.ts",
        text: "refused: onceNotFound(refusal(response), unprovenRefusal(response)),",
        instead: "refused: refusal(response),"
      }
    ]
  },
  {
    name: "believe a refusal without asking",
    breaks: "a refusal is believed once nothing is found by our reference",
    test: hostile,
    edits: [
      {
        file: "src/providers/mtn/Translate.ts",
        text: "return onceNotFound(refusal(response)) ??",
        instead: "return refusal(response) ??"
      }
    ]
  },
  {
    name: "read packed answers as text",
    breaks: "what a machine on the way packed is read",
    test: hostile,
    edits: [
      {
        file: "src/providers/Transport.ts",
        text: 'this.#encoding = oneLine(headers["content-encoding"])',
        instead: 'this.#encoding = ""'
      }
    ]
  },
  {
    name: "take the noise of floating point for an amount",
    breaks: "19.709999999999997 is 19.71",
    test: hostile,
    edits: [
      {
        file: "src/providers/WireNumber.ts",
        text: "if (fraction.length < NOISY_DIGITS) return text",
        instead: "if (fraction.length > 0) return text"
      }
    ]
  }
]
