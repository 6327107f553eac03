import { transform } from 'esbuild'
import { defineConfig } from 'vitest/config'
import { packages } from './scripts/packages.mjs'

/** Vite leaves standard decorators as they are, which no Node.js understands yet. */
const decorators = {
  name: 'decorators',
  enforce: 'pre' as const,
  async transform(code: string, id: string) {
    if (!id.endsWith('.ts') || !/^\s*@\w/m.test(code)) return undefined
    return transform(code, {
      loader: 'ts',
      target: 'node20',
      keepNames: true,
      sourcefile: id,
      sourcemap: 'external',
    })
  },
}

const sourceOf = new Map(packages().flatMap(({ entries }) => entries.map(({ id, source }) => [id, source])))

/** The packages meet each other's sources in tests, so that nothing stale is tested. The engine's own tests choose. */
const sources = {
  name: 'sources',
  enforce: 'pre' as const,
  resolveId: (id: string, importer: string | undefined) =>
    /\/packages\/(?!core\/)[^/]+\/(src|test)\//.test(importer ?? '') ? sourceOf.get(id) : undefined,
}

export default defineConfig({
  plugins: [decorators, sources],
  test: {
    include: ['packages/*/test/**/*.test.ts', 'scripts/test/**/*.test.ts', 'test/**/*.test.ts'],
    silent: 'passed-only',
    // A limit for what hangs, not a measure of speed: it must hold on a machine that is busy with other things.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What was built is loaded by Node itself, as its users load it.
    server: { deps: { external: [/\/packages\/[^/]+\/dist\//] } },
  },
})
