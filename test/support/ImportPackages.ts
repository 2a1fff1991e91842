/** Who may import what: `files` are beginnings of paths under `src/`, where `$1` is what `from` captured; `packages` are patterns of package names. */
export interface ImportRow {
  readonly from: RegExp
  readonly files: ReadonlyArray<string>
  readonly packages: ReadonlyArray<RegExp>
}

export const core = /^effect(\/[A-Z]\w*)?$/
export const crypto = /^(effect\/crypto|node:crypto)$/
export const http = /^effect\/http(\/\w+)?$/
export const node = /^node:/
