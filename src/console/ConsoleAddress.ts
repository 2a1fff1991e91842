import { Context } from "effect"

/** Where the console of this process listens; null: it has none. */
export class ConsoleAddress extends Context.Service<
  ConsoleAddress,
  { readonly at: { readonly host: string; readonly port: number } | null }
>()("gateway/console/ConsoleAddress") {}
