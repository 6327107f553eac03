// The files in .github cannot run here. This test parses them and checks everything that they name.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { parseDocument } from 'yaml'
import { packages, root } from '../scripts/packages.mjs'

interface Step {
  name?: string
  uses?: string
  run?: string
  with?: Record<string, string>
}
interface Job {
  'runs-on': string
  'timeout-minutes': number
  needs?: string[]
  strategy?: { matrix: Record<string, string[]> }
  steps: Step[]
}
interface Workflow {
  name: string
  on: Record<string, unknown>
  permissions: Record<string, string>
  jobs: Record<string, Job>
}

const read = (file: string) => readFileSync(join(root, file), 'utf8')
const scripts: Record<string, string> = JSON.parse(read('package.json')).scripts

function parse(file: string) {
  const document = parseDocument(read(file), { strict: true, uniqueKeys: true })
  expect(document.errors, file).toEqual([])
  return document.toJS()
}

/** The scripts of package.json that a command line runs. */
const npmScripts = (command: string) =>
  [...command.matchAll(/\bnpm (?:run (?:--?[\w-]+ )*([\w:-]+)|(test)\b)/g)].map(
    ([, name, test]) => name ?? test ?? '',
  )

const files = readdirSync(join(root, '.github/workflows')).map((name) => `.github/workflows/${name}`)

test('the workflows test, analyze and release', () => {
  const names = files.map((file): string => parse(file).name)
  expect(names.toSorted()).toEqual(['codeql', 'release', 'test'])
})

describe.each(files)('%s', (file) => {
  const workflow: Workflow = parse(file)
  const jobs = Object.entries(workflow.jobs)
  const steps = jobs.flatMap(([, job]) => job.steps)

  it('has a trigger and grants only read access by default', () => {
    expect(Object.keys(workflow.on).length).toBeGreaterThan(0)
    expect(workflow.permissions).toEqual({ contents: 'read' })
  })

  it('has jobs with a machine, a time limit and steps that each run one thing', () => {
    for (const [name, job] of jobs) {
      expect(job['runs-on'], name).toBeTypeOf('string')
      expect(job['timeout-minutes'], name).toBeGreaterThan(0)
      for (const need of job.needs ?? []) expect(Object.keys(workflow.jobs)).toContain(need)
      for (const step of job.steps) expect([step.uses, step.run].filter(Boolean), name).toHaveLength(1)
    }
  })

  it('uses actions of a known version', () => {
    for (const { uses } of steps) if (uses !== undefined) expect(uses).toMatch(/^[\w-]+\/[\w./-]+@v\d+$/)
  })

  it('runs only npm scripts that exist', () => {
    const commands = steps.flatMap((step) => [
      step.run ?? '',
      step.with?.version ?? '',
      step.with?.publish ?? '',
    ])
    for (const name of commands.flatMap(npmScripts)) expect(Object.keys(scripts)).toContain(name)
  })

  it('refers only to values of its matrix', () => {
    for (const [name, job] of jobs) {
      const used = [...JSON.stringify(job).matchAll(/matrix\.(\w+)/g)].map(([, key]) => key)
      for (const key of used) expect(Object.keys(job.strategy?.matrix ?? {}), name).toContain(key)
    }
  })
})

test('the gate runs on every supported version of Node.js', () => {
  const { gate } = parse('.github/workflows/test.yml').jobs
  expect(gate.strategy.matrix.node).toEqual(['20', '22', '24'])
  expect(gate.steps.map(({ run }: Step) => run)).toEqual(expect.arrayContaining(['npm ci', 'npm test']))
  for (const { dir } of packages().filter((each) => !each.private))
    expect(JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')).engines.node).toBe('>=20.19.0')
  expect(read('docs/support.md')).toContain('| Node.js | 20.19 and later;')
})

test('a release runs the gate before it publishes, and may sign with the identity of the workflow', () => {
  const { release } = parse('.github/workflows/release.yml').jobs
  const at = (part: string) => release.steps.findIndex((step: Step) => JSON.stringify(step).includes(part))
  expect(at('npm test')).toBeGreaterThan(-1)
  expect(at('npm test')).toBeLessThan(at('npm run release'))
  expect(release.permissions['id-token']).toBe('write')
})

test('dependabot watches folders that exist', () => {
  const { version, updates } = parse('.github/dependabot.yml')
  expect(version).toBe(2)
  for (const { directory } of updates) expect(existsSync(join(root, directory)), directory).toBe(true)
})

test('the issue templates are forms with unique ids', () => {
  for (const name of ['bug.yml', 'feature.yml']) {
    const { name: title, description, body } = parse(`.github/ISSUE_TEMPLATE/${name}`)
    expect([title, description].every((text) => typeof text === 'string')).toBe(true)
    const ids = body.flatMap(({ id }: { id?: string }) => id ?? [])
    expect(new Set(ids).size).toBe(ids.length)
    for (const { type } of body)
      expect(['markdown', 'textarea', 'input', 'dropdown', 'checkboxes']).toContain(type)
  }
})

test('CONTRIBUTING.md names only npm scripts that exist', () => {
  for (const name of npmScripts(read('CONTRIBUTING.md'))) expect(Object.keys(scripts)).toContain(name)
})

describe('the published packages', () => {
  const published = packages().filter((each) => !each.private)
  const manifests = packages().map(({ dir }) => JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')))
  const versions = new Map<string, string>(manifests.map(({ name, version }) => [name, version]))

  it('have one version, and depend on exactly that version of each other', () => {
    expect(new Set(versions.values()).size).toBe(1)
    for (const { name, dependencies = {}, devDependencies = {} } of manifests)
      for (const [other, range] of Object.entries({ ...dependencies, ...devDependencies }))
        if (versions.has(other)) expect(range, `${name} depends on ${other}`).toBe(versions.get(other))
  })

  it('contain a license and a README, and are published with provenance', () => {
    for (const { dir } of published) {
      for (const file of ['LICENSE', 'README.md']) expect(existsSync(join(dir, file)), dir).toBe(true)
      expect(readFileSync(join(dir, 'LICENSE'), 'utf8')).toBe(read('LICENSE'))
      const { publishConfig } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))
      expect(publishConfig).toEqual({ access: 'public', provenance: true })
    }
  })

  it('have an entry of their version in the changelog', () => {
    const [version] = versions.values()
    const later = existsSync(join(root, 'packages/core/CHANGELOG.md'))
      ? read('packages/core/CHANGELOG.md')
      : ''
    expect(read('CHANGELOG.md') + later).toContain(`## ${version === '1.0.0' ? '[1.0.0]' : version}`)
  })

  it('are versioned together by changesets', () => {
    const { fixed, access } = JSON.parse(read('.changeset/config.json'))
    expect([fixed, access]).toEqual([[['holdfast', '@holdfast/*']], 'public'])
  })
})

test('CONTRIBUTING.md lists every step of the gate', () => {
  const names = [...read('scripts/gate.mjs').matchAll(/name: '([^',]+)/g)].map(([, name]) => name)
  expect(names.length).toBeGreaterThan(10)
  for (const name of names) expect(read('CONTRIBUTING.md')).toContain(`\n| ${name} | `)
})
