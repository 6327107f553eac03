import { basename, extname } from 'node:path'
import { stringify } from 'yaml'
import { checkConfig } from '../check.js'
import { pathText, show } from '../problem.js'
import { READY } from '../ready.js'
import { readText } from '../text/document.js'
import { CURRENT_MINOR, CURRENT_VERSION, isNewerMinor, READABLE_VERSIONS } from '../version.js'
import { translateLibraryOptions } from './libraries.js'
import type { Migration, MigrationProblem } from './migrate.js'
import { isMapping, type Mapping, strangeIn } from './plain.js'
import { toBreaker, toPolicy } from './policy.js'
import { looksLikeBreaker, looksLikePolicy } from './words.js'

/** A place for things by name, whatever the name: old files may hold any. */
const named = <T>(): Record<string, T> => Object.create(null) as Record<string, T>

/** The parts of the new config as they are found. */
export class Work {
  private readonly wire: Mapping = named()
  private readonly policies: Mapping = named()
  private readonly breakers: Mapping = named()
  private readonly mappings: Record<string, Record<string, Record<string, string>>> = named()
  private readonly problems: MigrationProblem[] = []
  private readonly found = { policies: 0, mappings: 0, breakers: 0 }
  /** The version of the result: the oldest form that holds everything that was found. */
  private version = '1.1.0'
  private converted = 0
  private unchanged = 0
  /** What could not be read, and whether anything could. */
  private rejected = 0
  private understood = false

  /** Settings, or the text of some. */
  add(file: string | undefined, given: unknown): void {
    if (typeof given !== 'string') return this.take(file, given)
    const source = readText(given)
    if (!('problems' in source)) return this.take(file, source.value)
    for (const { line, message } of source.problems) this.reject(file, `line ${line}: ${message}`)
  }

  /** What was given cannot be read at all. */
  reject(file: string | undefined, message: string): void {
    this.rejected++
    this.tell(file, [], message)
  }

  private take(file: string | undefined, value: unknown): void {
    const strange = strangeIn(value)
    if (!isMapping(value)) this.reject(file, `got ${show(value)}, takes a mapping of settings`)
    else if (strange !== undefined) this.reject(file, `${strange}, takes plain settings`)
    else if (Object.keys(value).length === 0) this.tell(file, [], 'got an empty mapping, takes settings')
    else if (value.version !== undefined || isMapping(value.policies) || isMapping(value.subsystem_mappings))
      this.config(file, value)
    else {
      const own = file === undefined ? [] : [basename(file, extname(file))]
      this.settings(file, own, value)
    }
  }

  /** A file of the form that is still in use: its policies in today's words, all else as it is. */
  private config(file: string | undefined, value: Mapping): void {
    const { version, policies, subsystem_mappings, circuit_breakers, ...others } = value
    if (!this.canRead(file, version)) {
      // They are there, and what becomes of them is for who can read them to say.
      this.found.policies += Object.keys(Object(policies) as object).length
      return
    }
    this.understood = true
    for (const [id, policy] of Object.entries(isMapping(policies) ? policies : {}))
      if (isMapping(policy)) this.policy(file, ['policies', id], id, policy)
      else if (policy === null) this.policy(file, ['policies', id], id, {})
      else this.lose(file, ['policies', id], 'policies', policy)
    for (const [name, breaker] of Object.entries(isMapping(circuit_breakers) ? circuit_breakers : {}))
      if (isMapping(breaker)) this.breaker(file, ['circuit_breakers', name], name, breaker)
      else this.lose(file, ['circuit_breakers', name], 'breakers', breaker)
    for (const [subsystem, operations] of Object.entries(
      isMapping(subsystem_mappings) ? subsystem_mappings : {},
    ))
      for (const [operation, kinds] of Object.entries(isMapping(operations) ? operations : {}))
        for (const [kind, id] of Object.entries(isMapping(kinds) ? kinds : {}))
          if (typeof id === 'string') this.map([subsystem, operation, kind], id)
          else this.lose(file, ['subsystem_mappings', subsystem, operation, kind], 'mappings', id)
    for (const [section, held] of Object.entries(others))
      if (section in this.wire) this.tell(file, [section], 'another file has this section, which was used')
      else this.wire[section] = structuredClone(held)
  }

  /** Whether files of a version can be read. One that cannot is not given another number. */
  private canRead(file: string | undefined, version: unknown): boolean {
    if (version === undefined || version === null) return true
    const said = typeof version === 'string' || typeof version === 'number' ? `${version}` : ''
    const [, major, minor = '0'] = /^v?(\d+)(?:\.(\d+))?(?:\.\d+)*$/.exec(said) ?? []
    if (major !== '1') {
      this.rejected++
      const got = `got ${show(version)}, takes ${READABLE_VERSIONS}`
      this.tell(file, ['version'], `${got}: this release cannot read other versions, and left everything out`)
      return false
    }
    if (isNewerMinor(Number(minor)))
      this.tell(
        file,
        ['version'],
        `got ${show(version)}, which is newer than ${CURRENT_MINOR}; it was read as ${CURRENT_VERSION}`,
      )
    // Sections are taken over as they are, and those of 1.2.0 need its number.
    if (Number(minor) > 1) this.version = CURRENT_VERSION
    return true
  }

  /** Settings in other words, at any depth: subsystem, operation and kind by the names that lead there. */
  private settings(file: string | undefined, path: readonly string[], value: Mapping): void {
    const id = path.join('_').replace(/[^\w-]+/g, '_') || 'default'
    if (looksLikePolicy(translateLibraryOptions(value)?.value ?? value)) {
      this.policy(file, path, id, value)
      const [subsystem, operation, ...kind] = path
      if (subsystem !== undefined && operation !== undefined)
        this.map([subsystem, operation, kind.length === 0 ? 'default' : kind.join('_')], id)
      return
    }
    if (looksLikeBreaker(value)) {
      this.breaker(file, path, id, value)
      return
    }
    // A level that only says that these are settings of retries is no name.
    for (const [key, held] of Object.entries(value))
      if (isMapping(held))
        this.settings(
          file,
          /^(retry|retries|retry_?config|policies)$/i.test(key) ? path : [...path, key],
          held,
        )
      else this.tell(file, [...path, key], 'is no setting that is known, and was left out')
  }

  private policy(file: string | undefined, path: readonly string[], id: string, old: Mapping): void {
    this.found.policies++
    const tell = (key: string, message: string) => this.tell(file, [...path, key], message)
    const translated = translateLibraryOptions(old)
    for (const [key, message] of translated?.notes ?? []) tell(key, message)
    const { policy, breaker } = toPolicy(translated?.value ?? old, tell)
    if (breaker !== undefined) {
      this.found.breakers++
      const tellBreaker = (key: string, message: string) =>
        this.tell(file, [...path, 'circuit_breaker', key], message)
      const inner = translateLibraryOptions(breaker)
      for (const [key, message] of inner?.notes ?? []) tellBreaker(key, message)
      const { circuit_breaker = breaker, attempt_timeout_ms, bulkhead } = inner?.value ?? {}
      const made = toBreaker(circuit_breaker as Mapping, tellBreaker)
      // What the library has beside its breaker belongs to the call.
      if (typeof attempt_timeout_ms === 'number') policy.attempt_timeout ??= attempt_timeout_ms / 1000
      if (bulkhead !== undefined) policy.bulkhead ??= bulkhead
      if (made.enabled) {
        const name = this.free(this.breakers, made.name ?? id)
        this.breakers[name] = made.breaker
        policy.circuit_breaker = name
      } else this.found.breakers--
    }
    if (policy.id !== undefined && policy.id !== id) {
      tell('id', `was ${show(policy.id)}, and is ${show(id)} now`)
      policy.id = id
    }
    if (JSON.stringify(policy) === JSON.stringify(old)) this.unchanged++
    else this.converted++
    const free = this.free(this.policies, id)
    if (free !== id)
      this.tell(file, path, `there is another policy ${show(id)}; this one is ${show(free)} now`)
    this.policies[free] = policy
  }

  private breaker(file: string | undefined, path: readonly string[], id: string, old: Mapping): void {
    this.found.breakers++
    const { name = id, breaker } = toBreaker(old, (key, message) => this.tell(file, [...path, key], message))
    this.breakers[this.free(this.breakers, name)] = breaker
  }

  private map([subsystem, operation, kind]: readonly [string, string, string], id: string): void {
    this.found.mappings++
    const operations = (this.mappings[subsystem] ??= named())
    const kinds = (operations[operation] ??= named())
    kinds[kind] = id
  }

  private lose(
    file: string | undefined,
    path: readonly string[],
    what: keyof Work['found'],
    value: unknown,
  ): void {
    this.found[what]++
    this.tell(file, path, `got ${show(value)}, which is no such thing, and was left out`)
  }

  private free(taken: Mapping, name: string): string {
    let free = name
    for (let n = 2; Object.hasOwn(taken, free); n++) free = `${name}_${n}`
    return free
  }

  private tell(file: string | undefined, path: readonly string[], message: string): void {
    this.problems.push({ ...(file !== undefined && { file }), path: pathText(path), message })
  }

  finish(): Migration {
    let mappingsOut = 0
    for (const operations of Object.values(this.mappings))
      for (const kinds of Object.values(operations))
        for (const [kind, id] of Object.entries(kinds)) {
          mappingsOut++
          // What was forgiven before is said now.
          if (!id.startsWith('?') && !Object.hasOwn(this.policies, id) && !Object.hasOwn(READY, id))
            kinds[kind] = `?${id}`
        }
    const filled = (section: string, held: Mapping) =>
      Object.keys(held).length > 0 ? { [section]: held } : {}
    const text = stringify(
      {
        version: this.version,
        ...this.wire,
        ...filled('policies', this.policies),
        ...filled('circuit_breakers', this.breakers),
        ...filled('subsystem_mappings', this.mappings),
      },
      { aliasDuplicateObjects: false },
    )
    const wrong = checkConfig(text).problems
    for (const { path, message } of wrong) this.problems.push({ path, message: `in the result: ${message}` })
    const counts = {
      policiesIn: this.found.policies,
      policiesOut: Object.keys(this.policies).length,
      mappingsIn: this.found.mappings,
      mappingsOut,
      breakersIn: this.found.breakers,
      breakersOut: Object.keys(this.breakers).length,
    }
    const found = Object.values(this.found).some((number) => number > 0)
    const kept =
      (found || this.understood) &&
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
        integrity: { ...counts, ok: kept && wrong.length === 0 },
      },
    }
  }
}
