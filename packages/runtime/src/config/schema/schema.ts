import { z } from 'zod'
import { codec, type Twin } from '../../codec/twin.js'
import { CURRENT_VERSION } from '../version.js'
import { described, flag, key, storeUrl, version, word } from './leaf.js'
import { defaultsSchema, policyEntrySchema } from './policy.js'
import {
  breakerEntrySchema,
  deadLettersSchema,
  errorKindsSchema,
  poolSchema,
  sectionsShape,
} from './sections.js'

/** The one schema of the config file, in the file's own spelling. */
export const configSchema = z.strictObject({
  version: described(version(), `The version of the form of this file: "${CURRENT_VERSION}".`),
  debug: key(flag(), 'Shows stack traces in logs, records and answers. Default false.'),
  global_defaults: key(defaultsSchema, 'What policies are where they say nothing themselves.'),
  policies: key(z.record(z.string(), policyEntrySchema), 'Retry policies by id.'),
  circuit_breakers: key(
    z.record(z.string(), breakerEntrySchema),
    'Breakers by name, for policies and calls to share.',
  ),
  subsystem_mappings: key(
    z.record(z.string(), z.record(z.string(), z.record(z.string(), word()))),
    'Which policy an operation of a subsystem has, by the kind of the failure; `default` is for every other kind.',
  ),
  subsystems: key(
    z.record(
      z.string(),
      z.strictObject({
        enabled: key(flag(), 'False lets the calls of the subsystem straight through. Default true.'),
        error_kinds: key(errorKindsSchema.clone(), 'Kinds of failure of this subsystem alone.'),
      }),
    ),
    'Settings of one subsystem.',
  ),
  error_kinds: key(errorKindsSchema, 'Kinds of failure: the names and codes of errors that mean each.'),
  pools: key(z.record(z.string(), poolSchema), 'Pools by id.'),
  dead_letters: key(deadLettersSchema, 'What happens to calls that failed for good.'),
  record_results: key(flag(), 'Keeps the results of recorded calls. Default false.'),
  store: key(storeUrl(), 'Where records are kept: memory, files:DIR or sqlite:FILE.'),
  overrides: key(
    z.record(z.string(), z.unknown()),
    'Settings of operations and decorated methods: subsystem/operation/Retry/maxRetries, Class/Retry/maxRetries, Retry/maxRetries.',
  ),
  ...sectionsShape,
})

/** What a config file says: keys in camelCase, durations in milliseconds. What it leaves out is left out here too. */
export type Config = Twin<typeof configSchema>

/** The config file as it is written. */
export type WireConfig = z.input<typeof configSchema>

/** A policy as a config holds it: only what was said. */
export type PolicyEntry = Twin<typeof policyEntrySchema>

/** A breaker as a config holds it. */
export type BreakerEntry = Twin<typeof breakerEntrySchema>

export const configCodec = codec(configSchema)
export const policyEntryCodec = codec(policyEntrySchema)
