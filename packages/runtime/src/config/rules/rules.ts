import { checkBreakers } from './breakers.js'
import { checkDeadLetters } from './dead-letters.js'
import type { Facts, Tell } from './facts.js'
import { checkMembers } from './members.js'
import { checkOverrides } from './overrides.js'
import { checkPolicies } from './policies.js'
import { checkReferences } from './references.js'
import { checkVersion, isOld } from './version.js'

/** Checks what values say together. */
export function checkRules(facts: Facts, problem: Tell, warning: Tell): void {
  checkVersion(facts, problem, warning)
  checkPolicies(facts, problem)
  checkBreakers(facts, problem)
  checkReferences(facts, problem, isOld(facts.config.version) ? warning : problem)
  checkMembers(facts, problem)
  checkDeadLetters(facts, problem)
  checkOverrides(facts, problem)
}
