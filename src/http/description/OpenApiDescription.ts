import { OpenApi } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { PARAMETER } from "../api/Page.ts"
import { exampleComponents } from "./OpenApiErrors.ts"
import { operationOf, securitySchemes } from "./OpenApiOperations.ts"
import { isTree, namedSchemas, type Tree, treeOf, withMode } from "./OpenApiSchemas.ts"
import { eventsTag, webhooks } from "./OpenApiWebhooks.ts"

/**
 * The API in OpenAPI 3.1 (`GET /openapi.json`), generated from its endpoints. Paths and schemas are those that the endpoints
 * decode and respond with; errors are the domain's, with their status and class.
 */
export const describeInterface = (): Tree => {
  const { components, info, openapi, paths, servers, tags } = OpenApi.fromApi(Api, GENERATED)
  const { named, schemas } = namedSchemas(components.schemas)
  const requests = new Set<string>()
  const pathOf = ([path, item]: [string, unknown]) => {
    const operations = Object.entries(treeOf(named(item))).map(([method, operation]) => {
      requests.add(requestName(treeOf(operation)))
      return [method, operationOf(`${method.toUpperCase()} ${path}`, treeOf(operation))]
    })
    return [path, Object.fromEntries(operations)]
  }
  return {
    openapi,
    info,
    servers,
    tags: tags.flatMap((tag) => (tag.name === "webhooks" ? [tag, eventsTag] : [tag])),
    paths: Object.fromEntries(Object.entries(paths).map(pathOf)),
    webhooks,
    components: {
      schemas: Object.fromEntries(
        Object.entries(schemas).map(([name, schema]) => [name, requests.has(name) && isTree(schema) ? withMode(schema) : schema])
      ),
      examples: exampleComponents,
      securitySchemes
    }
  }
}

let described: Tree | undefined

/** Shared by all gateways of a process. */
export const interfaceDescription = (): Tree => (described ??= describeInterface())

const GENERATED = { includeAnnotationKey: (key: string) => key === PARAMETER }

/** The name of the schema of an operation's body; empty for none. */
const requestName = ({ requestBody }: Tree): string => {
  const { schema } = treeOf(treeOf(treeOf(requestBody)["content"])["application/json"])
  return (
    String(treeOf(schema)["$ref"] ?? "")
      .split("/")
      .at(-1) ?? ""
  )
}
