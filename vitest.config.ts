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

const everything = ['packages/*/test/**/*.test.ts', 'scripts/test/**/*.test.ts', 'test/**/*.test.ts']

/** What a file here does to its process stays done: the dispatcher of every fetch, the one browser. */
const alone = ['packages/core/test/{http,undici}/**', 'packages/dashboard/test/**']

export default defineConfig({
  plugins: [decorators, sources],
  test: {
    // Most files share a process, which spares each of them from loading everything again.
    projects: [
      { extends: true, test: { name: 'together', include: everything, exclude: alone, isolate: false } },
      { extends: true, test: { name: 'alone', include: alone.map((path) => `${path}/*.test.ts`) } },
    ],
    setupFiles: ['./test/setup.ts'],
    silent: 'passed-only',
    // A limit for what hangs, not a measure of speed: it must hold on a machine that is busy with other things.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What was built is loaded by Node itself, as its users load it.
    server: { deps: { external: [/\/packages\/[^/]+\/dist\//] } },
  },
})
