// Loads the tables and schemas that the reference is generated from. They are not exported by the packages, so their sources are
// bundled.
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { root, sourceAliases, sourceLoaders } from '../packages.mjs'

const CONTENTS = `
export { Holdfast } from '@holdfast/runtime'
export { classify, HoldfastError } from 'holdfast'
export { z } from 'zod'
export * from './packages/server/src/app/build-app.ts'
export { createOpenApiDocument } from './packages/server/src/app/openapi.ts'
export { createProgram } from './packages/server/src/cli/program.ts'
export * from './packages/server/src/http/error-codes.ts'
export * from './packages/server/src/roles.ts'
export * from './packages/runtime/src/telemetry/metrics.ts'
export { configSchema } from './packages/config/src/schema/schema.ts'
export { fieldInfo } from './packages/config/src/schema/fields.ts'
export { memberChangeSchema } from './packages/config/src/schema/member-change.ts'
export { BUILT_IN_POLICIES } from './packages/config/src/schema/built-in-policies.ts'
export { jsonSchema } from './packages/config/src/schema/json-schema.ts'
export * as walk from './packages/config/src/schema/walk.ts'
export * as proxyErrors from './packages/proxy/src/server/error-responses.ts'
export { PrivateTargetError } from './packages/proxy/src/targets/target-policy.ts'
export * as records from './packages/records/src/schemas.ts'
`

/** @returns {Promise<any>} the exports of the sources */
export async function loadSources() {
  // Below the package that has the most dependencies, whose versions can differ from those of the root.
  const folder = join(root, 'packages/server/node_modules/.cache/reference')
  mkdirSync(folder, { recursive: true })
  const outfile = join(folder, `sources-${process.pid}.mjs`)
  try {
    await build({
      stdin: { contents: CONTENTS, resolveDir: root, loader: 'ts' },
      bundle: true,
      platform: 'node',
      format: 'esm',
      packages: 'external',
      alias: sourceAliases,
      loader: sourceLoaders,
      outfile,
      logLevel: 'warning',
    })
    return await import(pathToFileURL(outfile).href)
  } finally {
    rmSync(outfile, { force: true })
  }
}
