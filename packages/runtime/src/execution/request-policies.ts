import type { RequestCall } from '../request-call.js'
import type { CompiledPolicy } from './compiled-operation.js'

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
      policy: this.request.toRequestPolicy(rules.policy),
    }
    this.compiled.set(rules, compiled)
    return compiled
  }
}
