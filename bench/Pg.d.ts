// What the baselines use of node-postgres, which brings no types of its own.
declare module "pg" {
  export interface Answer {
    readonly rows: ReadonlyArray<Readonly<Record<string, unknown>>>
    readonly rowCount: number | null
  }
  /** With a name the statement is prepared once a connection. */
  export type Query = string | { readonly name?: string; readonly text: string; readonly values?: ReadonlyArray<unknown> }

  export class Client {
    constructor(options: { readonly connectionString: string })
    connect(): Promise<void>
    query(query: Query, values?: ReadonlyArray<unknown>): Promise<Answer>
    end(): Promise<void>
    on(event: "error", listener: (error: Error) => void): this
  }

  export class Pool {
    constructor(options: { readonly connectionString: string; readonly max: number })
    connect(): Promise<Client & { release(destroy?: boolean): void }>
    query(query: Query, values?: ReadonlyArray<unknown>): Promise<Answer>
    end(): Promise<void>
    on(event: "error", listener: (error: Error) => void): this
  }
}
