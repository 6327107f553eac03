import { transform } from 'esbuild'
import { defineConfig } from 'vitest/config'

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

export default defineConfig({
  plugins: [decorators],
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
