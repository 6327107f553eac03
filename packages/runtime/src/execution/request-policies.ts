import type { HttpRetryRules } from 'holdfast/internal'
import type { RequestCall } from '../request-call.js'
import type { CompiledPolicy } from './compiled-operation.js'

/** The rules of HTTP of a policy. */
export const httpRulesOf = ({ record }: CompiledPolicy): HttpRetryRules => ({
  retryStatusCodes: record.retryStatusCodes ? new Set(record.retryStatusCodes) : undefined,
  retryNonIdempotent: record.retryNonIdempotent,
  idempotencyKey: false,
  notProcessedStatuses: new Set(),
})

/** Adds the rules of HTTP to the policies of one request, to each once. */
export class RequestPolicies {
  private readonly request: RequestCall
  private readonly compiled = new Map<CompiledPolicy, CompiledPolicy>()

  constructor(request: RequestCall) {
    this.request = request
  }

  applyTo(rules: CompiledPolicy): CompiledPolicy {
    const compiled = this.compiled.get(rules) ?? {
      ...rules,
      policy: this.request.toRequestPolicy(rules.policy, httpRulesOf(rules)),
    }
    this.compiled.set(rules, compiled)
    return compiled
  }
}
