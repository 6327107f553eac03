import { defineConfig } from 'vitest/config'

// Sources only: what is built does not change with a mutant.
export default defineConfig({
  test: { include: ['packages/*/test/**/*.test.ts'], exclude: ['packages/*/test/package.test.ts'] },
})
