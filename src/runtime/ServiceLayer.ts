import { type Context, Effect, Layer } from "effect"

/**
 * The Layer of a service. A generator makes the service, once, of those that it asks for. The service is given by itself: the parameters of
 * the methods then have their types from it.
 */
export const layerOf =
  <I, Service>(service: Context.Key<I, Service>) =>
  <Eff extends Effect.Effect<unknown, unknown, unknown>>(make: () => Generator<Eff, Service, never>) =>
    Layer.effect(service, Effect.gen(make))
