import { basename, extname } from 'node:path'
import { stringify } from 'yaml'
import { checkConfig } from '../check/check.js'
import { isMapping, type Mapping } from '../mapping.js'
import { describeProblem } from '../problems/describe.js'
import { formatPath, formatValue } from '../problems/format-value.js'
import { BUILT_IN_POLICIES } from '../schema/built-in-policies.js'
import { parseText } from '../text/document.js'
import { CURRENT_MINOR, CURRENT_VERSION, isNewerMinor, READABLE_VERSIONS } from '../version.js'
import { looksLikeBreaker, looksLikePolicy } from './field-aliases.js'
import { translateLibraryOptions } from './libraries.js'
import type { Migration, MigrationProblem } from './migrate.js'
import { findNonData } from './non-data.js'
import { migrateBreaker, migratePolicy } from './policy.js'

/** Creates a map without a prototype, because old files may contain any name. */
const createNamedMap = <T>(): Record<string, T> => Object.create(null) as Record<string, T>

/** Collects the parts of the new config. */
export class ConfigMigrator {
  private readonly wire: Mapping = createNamedMap()
  private readonly policies: Mapping = createNamedMap()
  private readonly breakers: Mapping = createNamedMap()
  private readonly mappings: Record<string, Record<string, Record<string, string>>> = createNamedMap()
  private readonly problems: MigrationProblem[] = []
  private readonly inputCounts = { policies: 0, mappings: 0, breakers: 0 }
  /** The version of the result: the oldest one that supports everything that was found. */
  private version = '1.1.0'
  private converted = 0
  private unchanged = 0
  /** The number of inputs that could not be read, and whether any could. */
  private rejected = 0
  private hasReadAny = false

  /** Adds settings, or a text with settings. */
  add(file: string | undefined, input: unknown): void {
    if (typeof input !== 'string') return this.addValue(file, input)
    const source = parseText(input)
    if (!('problems' in source)) return this.addValue(file, source.value)
    for (const problem of source.problems)
      this.reject(file, `line ${problem.line}: ${describeProblem(problem).message}`)
  }

  /** Reports an input that cannot be read. */
  reject(file: string | undefined, message: string): void {
    this.rejected++
    this.addProblem(file, [], message)
  }

  private addValue(file: string | undefined, value: unknown): void {
    const nonData = findNonData(value)
    if (!isMapping(value)) this.reject(file, `expected a mapping of settings, got ${formatValue(value)}`)
    else if (nonData !== undefined) this.reject(file, `expected plain settings, got a value that ${nonData}`)
    else if (value.version !== undefined || isMapping(value.policies) || isMapping(value.subsystem_mappings))
      this.addConfig(file, value)
    else {
      const own = file === undefined ? [] : [basename(file, extname(file))]
      this.addSettings(file, own, value)
    }
  }

  /** Adds a file of the current form: its policies with today's field names, everything else unchanged. */
  private addConfig(file: string | undefined, value: Mapping): void {
    const { version, policies, subsystem_mappings, circuit_breakers, ...others } = value
    if (!this.isReadableVersion(file, version)) {
      // The policies count as input even though this release cannot read them.
      this.inputCounts.policies += Object.keys(Object(policies) as object).length
      return
    }
    this.hasReadAny = true
    for (const [id, policy] of this.entriesOf(file, ['policies'], 'policies', policies))
      if (isMapping(policy)) this.addPolicy(file, ['policies', id], id, policy)
      else if (policy === null) this.addPolicy(file, ['policies', id], id, {})
      else this.reportLost(file, ['policies', id], 'policies', policy)
    for (const [name, breaker] of this.entriesOf(file, ['circuit_breakers'], 'breakers', circuit_breakers))
      if (isMapping(breaker)) this.addBreaker(file, ['circuit_breakers', name], name, breaker)
      else this.reportLost(file, ['circuit_breakers', name], 'breakers', breaker)
    const path = ['subsystem_mappings']
    for (const [subsystem, operations] of this.entriesOf(file, path, 'mappings', subsystem_mappings))
      for (const [operation, kinds] of this.entriesOf(file, [...path, subsystem], 'mappings', operations))
        for (const [kind, id] of this.entriesOf(file, [...path, subsystem, operation], 'mappings', kinds))
          if (typeof id === 'string') this.addMapping([subsystem, operation, kind], id)
          else this.reportLost(file, [...path, subsystem, operation, kind], 'mappings', id)
    for (const [section, held] of Object.entries(others))
      if (section in this.wire)
        this.addProblem(file, [section], 'another file has the same section, which was used instead')
      else this.wire[section] = structuredClone(held)
  }

  /** The entries of a section. A section that is not a mapping is reported, and an empty one has none. */
  private entriesOf(
    file: string | undefined,
    path: readonly string[],
    what: keyof ConfigMigrator['inputCounts'],
    section: unknown,
  ): [string, unknown][] {
    if (isMapping(section)) return Object.entries(section)
    if (section !== undefined && section !== null) this.reportLost(file, path, what, section)
    return []
  }

  /** Whether this release can read a version. The version number of a file that cannot be read is not changed. */
  private isReadableVersion(file: string | undefined, version: unknown): boolean {
    if (version === undefined || version === null) return true
    const said = typeof version === 'string' || typeof version === 'number' ? `${version}` : ''
    const [, major, minor = '0'] = /^v?(\d+)(?:\.(\d+))?(?:\.\d+)*$/.exec(said) ?? []
    if (major !== '1') {
      this.rejected++
      this.addProblem(
        file,
        ['version'],
        `expected ${READABLE_VERSIONS}, got ${formatValue(version)}; this release cannot read other versions, so the file was ignored`,
      )
      return false
    }
    if (isNewerMinor(Number(minor)))
      this.addProblem(
        file,
        ['version'],
        `expected ${CURRENT_MINOR} or older, got ${formatValue(version)}; it was read as ${CURRENT_VERSION}`,
      )
    // Sections are copied unchanged, and those of 1.2.0 need that version.
    if (Number(minor) > 1) this.version = CURRENT_VERSION
    return true
  }

  /** Adds settings with other field names at any depth. The keys on the way are subsystem, operation and kind. */
  private addSettings(file: string | undefined, path: readonly string[], value: Mapping): void {
    if (Object.keys(value).length === 0) {
      this.addProblem(file, path, 'expected settings, got an empty mapping')
      return
    }
    const id = path.join('_').replace(/[^\w-]+/g, '_') || 'default'
    if (looksLikePolicy(translateLibraryOptions(value)?.value ?? value)) {
      this.addPolicy(file, path, id, value)
      const [subsystem, operation, ...kind] = path
      if (subsystem !== undefined && operation !== undefined)
        this.addMapping([subsystem, operation, kind.length === 0 ? 'default' : kind.join('_')], id)
      return
    }
    if (looksLikeBreaker(value)) {
      this.addBreaker(file, path, id, value)
      return
    }
    // A level whose key only means "retry settings" is not a name.
    for (const [key, held] of Object.entries(value))
      if (isMapping(held))
        this.addSettings(
          file,
          /^(retry|retries|retry_?config|policies)$/i.test(key) ? path : [...path, key],
          held,
        )
      else this.addProblem(file, [...path, key], 'unknown setting, which was ignored')
  }

  private addPolicy(file: string | undefined, path: readonly string[], id: string, old: Mapping): void {
    this.inputCounts.policies++
    const report = (key: string, message: string) => this.addProblem(file, [...path, key], message)
    const translated = translateLibraryOptions(old)
    for (const [key, message] of translated?.notes ?? []) report(key, message)
    const { policy, breaker } = migratePolicy(translated?.value ?? old, report)
    if (breaker !== undefined) {
      this.inputCounts.breakers++
      const tellBreaker = (key: string, message: string) =>
        this.addProblem(file, [...path, 'circuit_breaker', key], message)
      const inner = translateLibraryOptions(breaker)
      for (const [key, message] of inner?.notes ?? []) tellBreaker(key, message)
      const { circuit_breaker = breaker, attempt_timeout_ms, bulkhead } = inner?.value ?? {}
      const migrated = migrateBreaker(circuit_breaker as Mapping, tellBreaker)
      // The options beside the library's breaker apply to the call.
      if (typeof attempt_timeout_ms === 'number') policy.attempt_timeout ??= attempt_timeout_ms / 1000
      if (bulkhead !== undefined) policy.bulkhead ??= bulkhead
      if (migrated.enabled) {
        const name = this.freeName(this.breakers, migrated.name ?? id)
        this.breakers[name] = migrated.breaker
        policy.circuit_breaker = name
      } else this.inputCounts.breakers--
    }
    if (policy.id !== undefined && policy.id !== id) {
      report('id', `renamed from ${formatValue(policy.id)} to ${formatValue(id)}`)
      policy.id = id
    }
    if (JSON.stringify(policy) === JSON.stringify(old)) this.unchanged++
    else this.converted++
    const freeId = this.freeName(this.policies, id)
    if (freeId !== id)
      this.addProblem(
        file,
        path,
        `another policy has the id ${formatValue(id)}; this one was renamed to ${formatValue(freeId)}`,
      )
    this.policies[freeId] = policy
  }

  private addBreaker(file: string | undefined, path: readonly string[], id: string, old: Mapping): void {
    this.inputCounts.breakers++
    const { name = id, breaker } = migrateBreaker(old, (key, message) =>
      this.addProblem(file, [...path, key], message),
    )
    this.breakers[this.freeName(this.breakers, name)] = breaker
  }

  private addMapping([subsystem, operation, kind]: readonly [string, string, string], id: string): void {
    this.inputCounts.mappings++
    const operations = (this.mappings[subsystem] ??= createNamedMap())
    const kinds = (operations[operation] ??= createNamedMap())
    kinds[kind] = id
  }

  private reportLost(
    file: string | undefined,
    path: readonly string[],
    what: keyof ConfigMigrator['inputCounts'],
    value: unknown,
  ): void {
    this.inputCounts[what]++
    this.addProblem(file, path, `not valid and ignored, got ${formatValue(value)}`)
  }

  private freeName(taken: Mapping, name: string): string {
    let free = name
    for (let n = 2; Object.hasOwn(taken, free); n++) free = `${name}_${n}`
    return free
  }

  private addProblem(file: string | undefined, path: readonly string[], message: string): void {
    this.problems.push({ ...(file !== undefined && { file }), path: formatPath(path), message })
  }

  finish(): Migration {
    let mappingsOut = 0
    for (const operations of Object.values(this.mappings))
      for (const kinds of Object.values(operations))
        for (const [kind, id] of Object.entries(kinds)) {
          mappingsOut++
          // Earlier versions tolerated this, the new one requires it to be explicit.
          if (
            !id.startsWith('?') &&
            !Object.hasOwn(this.policies, id) &&
            !Object.hasOwn(BUILT_IN_POLICIES, id)
          )
            kinds[kind] = `?${id}`
        }
    const nonEmptySection = (section: string, held: Mapping) =>
      Object.keys(held).length > 0 ? { [section]: held } : {}
    const text = stringify(
      {
        version: this.version,
        ...this.wire,
        ...nonEmptySection('policies', this.policies),
        ...nonEmptySection('circuit_breakers', this.breakers),
        ...nonEmptySection('subsystem_mappings', this.mappings),
      },
      { aliasDuplicateObjects: false },
    )
    const problems = checkConfig(text).problems
    for (const { path, message } of problems)
      this.problems.push({ path, message: `in the result: ${message}` })
    const counts = {
      policiesIn: this.inputCounts.policies,
      policiesOut: Object.keys(this.policies).length,
      mappingsIn: this.inputCounts.mappings,
      mappingsOut,
      breakersIn: this.inputCounts.breakers,
      breakersOut: Object.keys(this.breakers).length,
    }
    const found = Object.values(this.inputCounts).some((number) => number > 0)
    const kept =
      (found || this.hasReadAny) &&
      this.rejected === 0 &&
      counts.policiesIn === counts.policiesOut &&
      counts.mappingsIn === counts.mappingsOut &&
      counts.breakersIn === counts.breakersOut
    return {
      text,
      report: {
        converted: this.converted,
        unchanged: this.unchanged,
        problems: this.problems,
        integrity: { ...counts, ok: kept && problems.length === 0 },
      },
    }
  }
}
