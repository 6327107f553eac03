// What users' compilers read. Needs `npm run build` or `npx tsc -b`.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const INDEX = new URL('../dist/index.d.ts', import.meta.url)

/** The packages that declarations import, those of the files they import among them. */
function packagesFrom(file: URL, seen = new Set<string>()): Set<string> {
  const packages = new Set<string>()
  if (seen.has(file.href)) return packages
  seen.add(file.href)
  const text = readFileSync(file, 'utf8')
  for (const [, name = ''] of text.matchAll(/(?:\bfrom|\bimport\()\s*['"]([^'"]+)['"]/g))
    if (!name.startsWith('.')) packages.add(name)
    else
      for (const inner of packagesFrom(new URL(name.replace(/\.js$/, '.d.ts'), file), seen))
        packages.add(inner)
  return packages
}

test('the declarations name no library but zod, whose own declarations compile with TypeScript 5.4', () => {
  const packages = [...packagesFrom(INDEX)]
  expect(packages.length).toBeGreaterThan(0)
  expect(packages.filter((name) => !/^(holdfast|@holdfast\/\w+|node:\w+|zod)$/.test(name))).toEqual([])
})
