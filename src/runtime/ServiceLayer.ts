import { type Context, Effect, Layer } from "effect"

/**
 * The Layer of a service. A generator creates the service, once, from the services that it yields. The service is passed
 * separately, so that the parameters of its methods get their types from it.
 */
export const layerOf =
  <I, Service>(service: Context.Key<I, Service>) =>
  <Eff extends Effect.Effect<unknown, unknown, unknown>>(make: () => Generator<Eff, Service, never>) =>
    Layer.effect(service, Effect.gen(make))
