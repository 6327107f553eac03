import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { ownTypeErrors, typeProblems } from '../check-types.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A package within the repository, so that it finds what is installed there by chance. */
function declarations(manifest: object, text: string): string {
  mkdirSync(join(root, '.cache'), { recursive: true })
  const folder = mkdtempSync(join(root, '.cache', 'types-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', ...manifest }))
  writeFileSync(join(folder, 'index.d.ts'), text)
  return join(folder, 'index.d.ts')
}

// One program for all of them: making it takes most of the time.
it('the check of published declarations finds undeclared packages and errors that skipLibCheck would hide', {
  timeout: 300_000,
}, () => {
  const undeclared = declarations(
    { name: 'careless' },
    "import type { z } from 'zod'\nexport declare const a: z.ZodType\n",
  )
  const wrong = declarations({ name: 'wrong' }, 'export declare const a: Missing\n')
  const sound = declarations(
    { name: 'sound', dependencies: { zod: '*' } },
    "import type { Server } from 'node:net'\nimport type { z } from 'zod'\nexport declare const a: Server\nexport declare const b: z.ZodType\n",
  )
  expect(typeProblems([undeclared, wrong, sound])).toEqual([
    expect.stringContaining("Cannot find name 'Missing'"),
    expect.stringContaining('imports zod, which careless does not declare'),
  ])
})

it('the check with TypeScript 5.4 finds declarations that need a newer compiler', {
  timeout: 300_000,
}, async () => {
  const generic = declarations({ name: 'generic' }, 'export declare const a: Uint8Array<ArrayBuffer>\n')
  const plain = declarations({ name: 'plain' }, 'export declare const a: Uint8Array\n')
  const name = 'typescript-5.4'
  const { default: compiler } = await import(name)
  expect(compiler.version).toMatch(/^5\.4\./)
  expect(ownTypeErrors([generic, plain], compiler)).toEqual([
    expect.stringContaining("Type 'Uint8Array' is not generic"),
  ])
})
