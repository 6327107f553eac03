import { availableParallelism } from 'node:os'
import { transform } from 'esbuild'
import { defineConfig } from 'vitest/config'
import { packages } from './scripts/packages.mjs'
import { exclusions } from './scripts/runtimes/known-failures.mjs'

/** Vite leaves standard decorators as they are, which no Node.js understands yet. */
const decorators = {
  name: 'decorators',
  enforce: 'pre' as const,
  async transform(code: string, id: string) {
    if (!id.endsWith('.ts') || !/^\s*@\w/m.test(code)) return undefined
    if (/ from '@nestjs\//.test(code)) return asNestProject(code, id)
    return transform(code, {
      loader: 'ts',
      target: 'node20',
      keepNames: true,
      sourcefile: id,
      sourcemap: 'external',
    })
  },
}

/** Compiles a file as projects with NestJS do: its decorators are experimental, and injection reads the types of parameters. */
async function asNestProject(code: string, fileName: string) {
  const { default: ts } = await import('typescript')
  const { outputText, sourceMapText = '' } = ts.transpileModule(code, {
    fileName,
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
      useDefineForClassFields: false,
      sourceMap: true,
    },
  })
  return { code: outputText, map: sourceMapText }
}

/** Imports Lua files as text, as esbuild does in the build. */
const lua = {
  name: 'lua',
  transform: (code: string, id: string) =>
    id.endsWith('.lua') ? { code: `export default ${JSON.stringify(code)}`, map: null } : undefined,
}

const sourceOf = new Map(packages().flatMap(({ entries }) => entries.map(({ id, source }) => [id, source])))

/**
 * Resolves imports of the packages to their sources, so that tests do not use an outdated build. Tests of the core are excluded:
 * they import the sources by path, or the build on purpose.
 */
const sources = {
  name: 'sources',
  enforce: 'pre' as const,
  resolveId: (id: string, importer: string | undefined) =>
    /\/packages\/(?!core\/)[^/]+\/(src|test)\//.test(importer ?? '') ? sourceOf.get(id) : undefined,
}

/** The test files of these packages share a process, so that the modules are loaded once and not for each file. */
const together = [
  'core',
  'records',
  'store',
  'config',
  'fleet',
  'runtime',
  'server',
  'proxy',
  'compat',
  'simulation',
  'adapters',
  'nestjs',
]

/**
 * Test files with a process of their own. They replace the global `fetch` or a module of Node.js, or advance fake timers by more than a
 * year, which also runs the timers that other test files set meanwhile.
 */
const apart = [
  'packages/core/test/{http,undici}/**/*.test.ts',
  'packages/{server,proxy}/test/**/constant-time.test.ts',
  'packages/core/test/regressions/delay-beyond-the-longest-timer.test.ts',
]

/** Tests that another runtime than Node.js does not pass. */
const { files: knownFailures, testNamePattern } = exclusions()

export default defineConfig({
  plugins: [decorators, lua, sources],
  test: {
    projects: [
      ...together.map((name) => ({
        extends: true as const,
        test: {
          name,
          include: [`packages/${name}/test/**/*.test.ts`],
          exclude: [...apart, ...knownFailures],
          isolate: false,
        },
      })),
      {
        extends: true,
        test: {
          name: 'each',
          include: ['packages/*/test/**/*.test.ts', 'scripts/test/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [
            ...knownFailures,
            // Projects of their own: scripts/check-projects.mjs runs them.
            'test/projects/**',
            `packages/{${together.join(',')}}/test/**`,
          ],
        },
      },
      { extends: true, test: { name: 'apart', include: apart, exclude: knownFailures } },
    ],
    ...(testNamePattern && { testNamePattern }),
    // One worker more than there are cores, because tests of browsers, processes and servers mostly wait.
    maxWorkers: availableParallelism() + 1,
    setupFiles: ['./test/setup.ts'],
    silent: 'passed-only',
    // Ends tests that hang. It is not a limit for speed, because tests must pass on a machine that is busy with other processes.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    server: {
      deps: {
        // Node.js loads the built packages itself, as it does for users.
        external: [/\/packages\/[^/]+\/dist\//],
        // On Bun the export `z` of zod is undefined unless Vite loads it.
        ...(process.versions.bun !== undefined && { inline: [/\/zod\//] }),
      },
    },
  },
})
