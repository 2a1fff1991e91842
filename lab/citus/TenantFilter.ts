import { as, columnOf, type Fields, isFields, listOf, textOf, uncast, within, wordsOf } from "./SyntaxTree.ts"

export interface Names {
  readonly isDistributed: (table: string) => boolean
  /** Whether a name that is no column says one tenant: a variable of the function around it. */
  readonly isVariable: (words: ReadonlyArray<string>) => boolean
}

/** The app_id of one relation in one place of a statement, or one tenant: what has to be equal is one term. */
type Term = string
const ONE_TENANT: Term = "one tenant"
const isTenantColumn = (name: string | undefined): boolean => name === "app_id" || name === "appId"

interface Relation {
  readonly alias: string
  readonly term: Term
  readonly hasTenant: boolean
}

interface Scope {
  readonly relations: Array<Relation>
  readonly outer: Scope | null
  readonly ctes: ReadonlyMap<string, Term>
}

/** What a query gives out. */
interface Output {
  readonly targets: ReadonlyArray<unknown>
  readonly scope: Scope
}

/**
 * The distributed tables that a statement touches without naming one tenant for each of them, by a constant, a parameter or a variable, or by an
 * equality that leads to one: the forms that Citus plans for a single node. Several tenants by = ANY are one shard's.
 */
export const tablesOfAnyTenant = (statement: unknown, names: Names): ReadonlyArray<string> => {
  const { found, isOneTenant } = new Reading(names).of(statement)
  return [...new Set(found.filter(({ term }) => !isOneTenant(term)).map(({ table }) => table))]
}

class Reading {
  readonly #names: Names
  readonly #equal = new Map<Term, Term>()
  readonly #found: Array<{ readonly table: string; readonly term: Term }> = []
  #count = 0

  constructor(names: Names) {
    this.#names = names
  }

  of(statement: unknown) {
    this.#query(statement, null, new Map())
    const one = this.#root(ONE_TENANT)
    return { found: this.#found, isOneTenant: (term: Term): boolean => this.#root(term) === one }
  }

  #root(term: Term): Term {
    const next = this.#equal.get(term)
    return next === undefined ? term : this.#root(next)
  }

  #join(one: Term | undefined, other: Term | undefined): void {
    if (one === undefined || other === undefined) return
    const [a, b] = [this.#root(one), this.#root(other)]
    if (a !== b) this.#equal.set(a, b)
  }

  #fresh(): Term {
    this.#count += 1
    return `relation ${this.#count}`
  }

  #query(node: unknown, outer: Scope | null, given: ReadonlyMap<string, Term>): Output | undefined {
    const [[kind, fields] = ["", undefined]] = isFields(node) ? Object.entries(node) : []
    if (!isFields(fields) || !/^(Select|Insert|Update|Delete)Stmt$/.test(kind)) return undefined
    const scope: Scope = { relations: [], outer, ctes: this.#ctes(fields["withClause"], outer, given) }
    if (isFields(fields["larg"])) {
      for (const side of ["larg", "rarg"]) this.#query({ SelectStmt: fields[side] }, outer, scope.ctes)
      return undefined
    }
    const conditions: Array<unknown> = [fields["whereClause"]]
    if (isFields(fields["relation"])) scope.relations.push(this.#table(fields["relation"], scope))
    for (const item of [...listOf(fields["fromClause"]), ...listOf(fields["usingClause"])]) this.#from(item, scope, conditions)
    for (const condition of conditions) this.#condition(condition, scope)
    if (kind === "InsertStmt") this.#inserted(fields, scope)
    const returning = isFields(fields["returningClause"]) ? fields["returningClause"]["exprs"] : []
    const targets = listOf(kind === "SelectStmt" ? fields["targetList"] : returning)
    this.#subqueries(
      [fields["targetList"], returning, conditions, functionsOf(fields["fromClause"]), fields["havingClause"]],
      scope
    )
    this.#subqueries([fields["sortClause"], fields["valuesLists"], fields["limitCount"], fields["onConflictClause"]], scope)
    return { targets, scope }
  }

  #ctes(clause: unknown, outer: Scope | null, given: ReadonlyMap<string, Term>): ReadonlyMap<string, Term> {
    const ctes = new Map(given)
    if (!isFields(clause)) return ctes
    for (const one of listOf(clause["ctes"])) {
      const cte = as("CommonTableExpr", one)
      const [name, term] = [textOf(cte?.["ctename"]), this.#fresh()]
      if (clause["recursive"] === true) ctes.set(name, term)
      this.#join(term, this.#given(this.#query(cte?.["ctequery"], outer, ctes)))
      ctes.set(name, term)
    }
    return ctes
  }

  #table(range: Fields, { ctes }: Scope): Relation {
    const name = textOf(range["relname"])
    const alias = aliasOf(range) || name
    const cte = range["schemaname"] === undefined ? ctes.get(name) : undefined
    if (cte !== undefined) return { alias, term: cte, hasTenant: true }
    const term = this.#fresh()
    const isDistributed = this.#names.isDistributed(name)
    if (isDistributed) this.#found.push({ table: name, term })
    return { alias, term, hasTenant: isDistributed }
  }

  #from(item: unknown, scope: Scope, conditions: Array<unknown>): void {
    const [table, rows] = [as("RangeVar", item), as("RangeFunction", item)]
    const [join, subquery] = [as("JoinExpr", item), as("RangeSubselect", item)]
    if (table !== undefined) scope.relations.push(this.#table(table, scope))
    if (rows !== undefined) scope.relations.push({ alias: aliasOf(rows), term: this.#fresh(), hasTenant: true })
    if (join !== undefined) {
      this.#from(join["larg"], scope, conditions)
      this.#from(join["rarg"], scope, conditions)
      conditions.push(join["quals"])
    }
    if (subquery !== undefined) {
      const term = this.#given(this.#query(subquery["subquery"], scope, scope.ctes)) ?? this.#fresh()
      scope.relations.push({ alias: aliasOf(subquery), term, hasTenant: true })
    }
  }

  /** What holds for every row: each part of an AND. */
  #condition(condition: unknown, scope: Scope): void {
    const both = as("BoolExpr", condition)
    if (both?.["boolop"] === "AND_EXPR") for (const part of listOf(both["args"])) this.#condition(part, scope)
    if (isFalse(condition)) for (const { term } of scope.relations) this.#join(term, ONE_TENANT)
    const comparison = as("A_Expr", condition)
    // Whoever sends = ANY names the tenants of one shard.
    if (/^AEXPR_OP(_ANY)?$/.test(textOf(comparison?.["kind"])) && wordsOf(comparison?.["name"])[0] === "=")
      this.#equality(comparison?.["lexpr"], comparison?.["rexpr"], scope)
    const isIn = as("SubLink", condition)
    if (isIn?.["subLinkType"] !== "ANY_SUBLINK") return
    const output = this.#query(isIn["subselect"], scope, scope.ctes)
    if (output === undefined) return
    const sides = as("RowExpr", isIn["testexpr"])?.["args"]
    for (const [at, side] of (sides === undefined ? [isIn["testexpr"]] : listOf(sides)).entries())
      if (isTenantColumn(columnOf(uncast(side)).at(-1)))
        this.#join(this.#term(side, scope), this.#term(valueOf(output.targets[at]), output.scope))
  }

  #equality(left: unknown, right: unknown, scope: Scope): void {
    const [lefts, rights] = [as("RowExpr", left)?.["args"], as("RowExpr", right)?.["args"]]
    if (lefts !== undefined && rights !== undefined)
      for (const [at, one] of listOf(lefts).entries()) this.#equality(one, listOf(rights)[at], scope)
    else if ([left, right].some((side) => isTenantColumn(columnOf(uncast(side)).at(-1))))
      this.#join(this.#term(left, scope), this.#term(right, scope))
  }

  #term(expression: unknown, scope: Scope): Term | undefined {
    const node = uncast(expression)
    if (as("ParamRef", node) !== undefined || as("A_Const", node) !== undefined) return ONE_TENANT
    const words = columnOf(node)
    const [name, alias] = [words.at(-1), words.at(-2)]
    for (let level: Scope | null = scope; level !== null; level = level.outer) {
      const relation = level.relations.find((one) =>
        alias === undefined ? isTenantColumn(name) && one.hasTenant : one.alias === alias
      )
      if (relation !== undefined) return isTenantColumn(name) ? relation.term : undefined
    }
    return words.length > 0 && this.#names.isVariable(words) ? ONE_TENANT : undefined
  }

  /** The rows that are written are of the tenants that stand, or are selected, in the place of app_id: the first where no columns are named. */
  #inserted(fields: Fields, scope: Scope): void {
    const columns = listOf(fields["cols"]).map((column) => textOf(as("ResTarget", column)?.["name"]))
    const at = columns.length === 0 ? 0 : columns.indexOf("app_id")
    const written = scope.relations[0]?.term
    const rows = listOf(as("SelectStmt", fields["selectStmt"])?.["valuesLists"])
    const before = this.#found.length
    const output = this.#query(fields["selectStmt"], { relations: [], outer: scope.outer, ctes: scope.ctes }, scope.ctes)
    // Rows that come from no table are sent each where it belongs, and to no other server.
    if (rows.length === 0 && this.#found.length === before) this.#join(written, ONE_TENANT)
    const [first, ...others] = rows.map((row) => this.#term(listOf(as("List", row)?.["items"])[at], { ...scope, relations: [] }))
    if (rows.length === 0 && output !== undefined) this.#join(written, this.#term(valueOf(output.targets[at]), output.scope))
    if (rows.length > 0 && others.every((other) => other === first)) this.#join(written, first)
  }

  #subqueries(parts: unknown, scope: Scope): void {
    for (const { subselect, subLinkType } of outermost(parts, "SubLink"))
      if (subLinkType !== "ANY_SUBLINK") this.#query(subselect, scope, scope.ctes)
  }

  /** The tenant of the rows that a query gives out. */
  #given(output: Output | undefined): Term | undefined {
    for (const target of output?.targets ?? []) {
      const words = columnOf(valueOf(target))
      const name = textOf(as("ResTarget", target)?.["name"]) || words.at(-1)
      if (isTenantColumn(name) && output !== undefined) return this.#term(valueOf(target), output.scope)
      const all = output?.scope.relations.filter(({ alias }) => words.length === 1 || alias === words[0])
      if (name === "*") return all?.find(({ hasTenant }) => hasTenant)?.term
    }
    return undefined
  }
}

/** No row at all is anybody's. */
const isFalse = (condition: unknown): boolean => {
  const constant = as("A_Const", condition)?.["boolval"]
  return isFields(constant) && constant["boolval"] !== true
}

const valueOf = (target: unknown): unknown => as("ResTarget", target)?.["val"]
const aliasOf = ({ alias }: Fields): string => (isFields(alias) ? textOf(alias["aliasname"]) : "")
const functionsOf = (from: unknown) => listOf(from).map((item) => as("RangeFunction", item))

/** Those that lie in no other of their kind. */
const outermost = (tree: unknown, kind: string): ReadonlyArray<Fields> => {
  const all = [...within(tree, kind)]
  const inner = new Set(all.flatMap((one) => [...within(Object.values(one), kind)]))
  return all.filter((one) => !inner.has(one))
}
