import { type CamelCased, createCodec } from '@holdfast/records'
import { STORE_URL_FORMAT } from '@holdfast/store'
import { z } from 'zod'
import { CONFIG_DEFAULTS } from '../defaults.js'
import { CURRENT_VERSION } from '../version.js'
import { breakerEntrySchema } from './breaker.js'
import { booleanValue, nonEmptyString, optionalKey, requiredKey, storeUrl, versionString } from './fields.js'
import { defaultsSchema, policyEntrySchema } from './policy.js'
import { poolSchema } from './pools.js'
import { deadLettersSchema, errorKindsSchema, sectionsShape } from './sections.js'

/** The schema of the config file, with the keys of the file. */
export const configSchema = z.strictObject({
  version: requiredKey(versionString(), `The version of the config format: "${CURRENT_VERSION}".`),
  debug: optionalKey(booleanValue(), 'Includes stack traces in logs, records and responses.', false),
  global_defaults: optionalKey(
    defaultsSchema,
    'Default values of all policies. A value in a policy takes precedence.',
  ),
  policies: optionalKey(z.record(z.string(), policyEntrySchema), 'Retry policies by id.'),
  circuit_breakers: optionalKey(
    z.record(z.string(), breakerEntrySchema),
    'Circuit breakers by name. Policies and calls can share them.',
  ),
  subsystem_mappings: optionalKey(
    z.record(z.string(), z.record(z.string(), z.record(z.string(), nonEmptyString()))),
    'The policy of each operation of a subsystem, by the kind of failure. `default` applies to all other kinds.',
  ),
  subsystems: optionalKey(
    z.record(
      z.string(),
      z.strictObject({
        enabled: optionalKey(
          booleanValue(),
          'False disables all policies for the calls of the subsystem.',
          true,
        ),
        error_kinds: optionalKey(
          errorKindsSchema.clone(),
          'Kinds of failure that apply to this subsystem only.',
        ),
      }),
    ),
    'Settings of one subsystem.',
  ),
  error_kinds: optionalKey(
    errorKindsSchema,
    'Kinds of failure: each with the names and codes of its errors.',
  ),
  pools: optionalKey(z.record(z.string(), poolSchema), 'Pools by id.'),
  dead_letters: optionalKey(deadLettersSchema, 'Storage and replay of calls that failed after all retries.'),
  record_results: optionalKey(booleanValue(), 'Stores the results of recorded calls.', false),
  store: optionalKey(
    storeUrl(),
    `Where records are stored: ${STORE_URL_FORMAT}. A path is relative to the config file.`,
    `${CONFIG_DEFAULTS.store}; memory for a config that is not a file`,
  ),
  overrides: optionalKey(
    z.record(z.string(), z.unknown()),
    'Settings of operations and decorated methods: subsystem/operation/Retry/maxRetries, Class/Retry/maxRetries, Retry/maxRetries.',
  ),
  ...sectionsShape,
})

/** The content of a config file with camelCase keys and milliseconds. Absent keys stay absent. */
export type Config = CamelCased<typeof configSchema>

/** The content of a config file with its own keys and units. */
export type WireConfig = z.input<typeof configSchema>

/** A policy of a config: only the fields that the config sets. */
export type PolicyEntry = CamelCased<typeof policyEntrySchema>

/** A breaker of a config. */
export type BreakerEntry = CamelCased<typeof breakerEntrySchema>

/** Converts a config between the keys and units of the file and those of TypeScript. */
export const configCodec = createCodec(configSchema)
export const policyEntryCodec = createCodec(policyEntrySchema)
