import { type Effect, Metric } from "effect"

/**
 * One metric for each set of labels, made when it is first counted: putting a set together costs more than counting. The sets are few, for labels are
 * templates, codes, tags and names of providers: nothing that a caller can make more of.
 */
export const labelledMetric = <Labels extends Readonly<Record<string, string>>, Input, State>(
  make: (attributes: Labels) => Metric.Metric<Input, State>
) => {
  const made = new Map<string, Metric.Metric<Input, State>>()
  return (labels: Labels, input: Input): Effect.Effect<void> => {
    const name = Object.values(labels).join("\u0000")
    const known = made.get(name) ?? make(labels)
    made.set(name, known)
    return Metric.update(known, input)
  }
}
