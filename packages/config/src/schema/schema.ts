import { type CamelCased, createCodec } from '@holdfast/records'
import { z } from 'zod'
import { CURRENT_VERSION } from '../version.js'
import { booleanValue, nonEmptyString, optionalKey, requiredKey, storeUrl, versionString } from './fields.js'
import { defaultsSchema, policyEntrySchema } from './policy.js'
import {
  breakerEntrySchema,
  deadLettersSchema,
  errorKindsSchema,
  poolSchema,
  sectionsShape,
} from './sections.js'

/** The schema of the config file, with the keys of the file. */
export const configSchema = z.strictObject({
  version: requiredKey(versionString(), `The version of the form of this file: "${CURRENT_VERSION}".`),
  debug: optionalKey(booleanValue(), 'Shows stack traces in logs, records and answers. Default false.'),
  global_defaults: optionalKey(defaultsSchema, 'What policies are where they say nothing themselves.'),
  policies: optionalKey(z.record(z.string(), policyEntrySchema), 'Retry policies by id.'),
  circuit_breakers: optionalKey(
    z.record(z.string(), breakerEntrySchema),
    'Breakers by name, for policies and calls to share.',
  ),
  subsystem_mappings: optionalKey(
    z.record(z.string(), z.record(z.string(), z.record(z.string(), nonEmptyString()))),
    'Which policy an operation of a subsystem has, by the kind of the failure; `default` is for every other kind.',
  ),
  subsystems: optionalKey(
    z.record(
      z.string(),
      z.strictObject({
        enabled: optionalKey(
          booleanValue(),
          'False lets the calls of the subsystem straight through. Default true.',
        ),
        error_kinds: optionalKey(errorKindsSchema.clone(), 'Kinds of failure of this subsystem alone.'),
      }),
    ),
    'Settings of one subsystem.',
  ),
  error_kinds: optionalKey(
    errorKindsSchema,
    'Kinds of failure: the names and codes of errors that mean each.',
  ),
  pools: optionalKey(z.record(z.string(), poolSchema), 'Pools by id.'),
  dead_letters: optionalKey(deadLettersSchema, 'What happens to calls that failed for good.'),
  record_results: optionalKey(booleanValue(), 'Keeps the results of recorded calls. Default false.'),
  store: optionalKey(storeUrl(), 'Where records are kept: memory, files:DIR or sqlite:FILE.'),
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

export const configCodec = createCodec(configSchema)
export const policyEntryCodec = createCodec(policyEntrySchema)
