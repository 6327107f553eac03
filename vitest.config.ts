import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['packages/*/test/**/*.test.ts', 'scripts/test/**/*.test.ts', 'test/**/*.test.ts'],
    silent: 'passed-only',
    // What was built is loaded by Node itself, as its users load it.
    server: { deps: { external: [/\/packages\/[^/]+\/dist\//] } },
  },
})
