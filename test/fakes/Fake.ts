import { inspect } from "node:util"
import { type Context, Effect, Layer } from "effect"

/** The methods of a service that a test expects to be called. What is no Effect and returns none, such as `Vault.hash`, has to be given. */
export type Expected<S extends object> = Layer.PartialEffectful<S>

/**
 * A Layer of a port, or of any other service, that has only the expected methods. Any other call fails the test and names the
 * service, the method and the arguments:
 *
 *     fake(Tenants, { pinned: () => Effect.succeed(null) })
 */
export const fake = <I, S extends object>(service: Context.Key<I, S>, expected: Expected<S> & object): Layer.Layer<I> =>
  Layer.effect(
    service,
    Effect.map(service, (mock) => {
      const known = new Set(Object.keys(expected))
      return new Proxy(mock, {
        get: (target, name) => {
          const member: unknown = Reflect.get(target, name)
          // An Effect that nobody expected, such as `AuditLog.head`, dies by itself when it runs.
          return typeof member !== "function" || known.has(String(name))
            ? member
            : new Proxy(member, { apply: (_member, _self, args) => unexpected(`${nameOf(service)}.${String(name)}`, args) })
        }
      })
    })
  ).pipe(Layer.provide(Layer.mock<I, S>(service, expected)))

/** Fails the test because something was called that it did not expect. */
export const unexpected = (name: string, args: ReadonlyArray<unknown>): never => {
  const given = args.map((arg) => inspect(arg, { depth: 4, breakLength: 120 })).join(", ")
  throw new Error(`${name} was not expected to be called in this test; it was called with (${given})`)
}

/** "Tenants" of "gateway/services/ports/Tenants". */
const nameOf = ({ key }: { readonly key: string }): string => key.split("/").at(-1) ?? key
