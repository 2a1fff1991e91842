import { type Effect, Metric } from "effect"

/**
 * One metric for each set of labels, created on first use: creating one costs more than counting. There are few sets, because
 * labels are templates, codes, tags and names of providers, which a caller cannot multiply.
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
