// Names that an engineer who knows Polly, resilience4j or BullMQ would have to decode. docs/glossary.md explains the ones in use.

/** Rejected names, each with the name to use instead. */
const REPLACEMENTS = new Map(
  Object.entries({
    House: 'RuntimeContext or ProxyHandlerContext',
    Kit: 'RuntimeContext',
    Line: 'CompiledOperation or OperationRecorder',
    Lines: 'OperationCompiler',
    Keeper: 'DeadLetterWriter',
    Vault: 'PayloadCipher',
    Trail: 'BestEffortAudit',
    Intake: 'InsertBatcher',
    Onlooker: 'ShadowEvaluator',
    Foresight: 'ShadowDecision',
    Telling: 'GuardEventEmitter',
    Traveller: 'ItemContext',
    Stranded: 'ResumePoint',
    Strangers: 'SettingsMismatch',
    Lately: 'RecentCallCount',
    Rests: 'MemberCooldowns',
    Aside: 'EjectedMembers',
    News: 'FleetMessage',
    Judge: 'OutcomeRecorder',
    Taken: 'MemberSelection',
    Roster: 'SlotTable',
    Blame: 'LocalFaultRollback',
    Verdict: 'BreakerOutcome',
    Ticket: 'CallPermit',
    Pass: 'PermitState',
    Bag: 'ErrorLike',
    Shelf: 'LineLog',
    Latch: 'FileLock',
    Spill: 'DiskFallback',
    Wakeups: 'ReplayNotifications',
    Refusal: 'ErrorResponse or ApiError',
    Flight: 'AttemptContext',
    Leg: 'AttemptRun or DispatchAttempt',
    Twin: 'CamelCased',
    PATIENCE: 'a timeout with its unit, such as COMMAND_TIMEOUT_MS',
    STUBBORN: 'a number of attempts, such as RECONNECT_AFTER',
    LINGER: 'FLUSH_DELAY_MS',
    KEPT: 'a limit, such as MAX_ENTRIES',
    MOST: 'a limit, such as MAX_ENTRIES',
    HELLO: 'SYNC',
    ROUSE: 'END_COOLDOWN',
    excuse: 'releasePermit',
    credit: 'recordMemberOutcome',
    board: 'prepareAttempt',
    harmless: 'safeRandom',
    complain: 'warn',
    rouse: 'endCooldown',
    putAside: 'quarantine',
    standards: 'defaultsOf',
    mended: 'fixed',
    handedOut: 'copyForReader',
  }),
)

/** @type {Parameters<import('oxlint/plugins-dev').RuleTester['run']>[1]} */
export const names = {
  create(context) {
    /** @param {any} id */
    const check = (id) => {
      const name = id?.type === 'Identifier' || id?.type === 'PrivateIdentifier' ? id.name : undefined
      const better = REPLACEMENTS.get(name)
      if (better !== undefined) context.report({ node: id, message: `name it ${better} instead of ${name}` })
    }
    /** @param {any} node */
    const checkId = ({ id }) => check(id)
    /** @param {any} node */
    const checkKey = ({ key, computed }) => computed || check(key)
    return {
      ClassDeclaration: checkId,
      FunctionDeclaration: checkId,
      TSInterfaceDeclaration: checkId,
      TSTypeAliasDeclaration: checkId,
      VariableDeclarator: checkId,
      MethodDefinition: checkKey,
      PropertyDefinition: checkKey,
      TSMethodSignature: checkKey,
      TSPropertySignature: checkKey,
    }
  },
}
