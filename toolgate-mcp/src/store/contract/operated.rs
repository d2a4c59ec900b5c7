//! Whoever is told "unavailable" and asks an operator's move again ends where one ends who was
//! answered the first time.

use toolgate_core::key::AgentKey;
use toolgate_core::key::OperatorToken;
use toolgate_core::unit::Create;
use toolgate_core::unit::Event;
use toolgate_core::unit::Key;
use toolgate_core::unit::Move;
use toolgate_core::unit::Outcome;
use toolgate_core::unit::SetPolicy;

use super::Clocked;
use super::faulty::At;
use super::faulty::Fault;
use super::faulty::Faulty;
use super::faulty::Often;
use super::fixture::Store;
use super::fixture::fresh;
use super::fixture::fresh_entropy;
use super::fixture::operator;
use super::fixture::principal;
use super::lost::Lost;
use crate::store::Directory as _;
use crate::store::Operator;
use crate::store::Role;
use crate::store::StoreError;

/// A principal is made once; who makes it again is told that it exists.
pub async fn a_principal_made_again_is_one<S: Store>(store: &S, _: &Clocked) {
    let id = fresh("p").parse().unwrap();
    let create = Move::Create(Box::new(Create {
        name: fresh("agent-").parse().unwrap(),
        owner: None,
        policy: r#"{"tools":{}}"#.to_owned(),
        policy_name: None,
        by: operator("ann"),
    }));
    let lost = Lost::of(store, &id, create).await;
    assert_eq!(lost.once(&["principal_created"], 0), Outcome::Exists);
}

/// Keys, the switch and the policy change once, and are written down once.
pub async fn what_an_operator_does_again_is_done_once<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    let by = operator("ann");
    let key = Key {
        id: fresh("k").parse().unwrap(),
        hash: AgentKey::from_entropy([7; 20]).hash(),
        created_at: store.now(),
        last_used_at: None,
        expires_at: None,
        revoked_at: None,
    };
    let revoke = Move::RevokeKey {
        id: key.id.clone(),
        by: by.clone(),
    };
    let kill = Move::Kill {
        by: by.clone(),
        reason: Some("drill".to_owned()),
    };
    let set = Move::SetPolicy(Box::new(SetPolicy {
        from: 1,
        text: r#"{"tools":{},"perMinute":5}"#.to_owned(),
        name: None,
        diff: serde_json::json!([]),
        by: by.clone(),
    }));
    let add = Move::AddKey {
        key,
        by: by.clone(),
    };
    for (asked, entry) in [
        (add, "key_created"),
        (revoke, "key_revoked"),
        (kill, "killed"),
        (Move::Revive { by }, "revived"),
        (set, "policy_set"),
    ] {
        let lost = Lost::of(store, &id, asked).await;
        assert_eq!(lost.once(&[entry], 0), Outcome::Done);
    }
    let head = store.head(&id).await.unwrap().unwrap();
    assert_eq!(
        (head.keys.len(), head.kills, head.policy.version),
        (1, 1, 2)
    );
}

/// A note names no call: it is written as often as it is asked, and changes nothing else.
pub async fn a_note_asked_again_is_written_again<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    let note = Move::Note(Box::new(Event::note("dry_run")));
    let lost = Lost::of(store, &id, note).await;
    assert_eq!(lost.written(&["dry_run", "dry_run"], 0), Outcome::Done);
}

/// A name, a route or an operator that was remembered stays so. Who adds or removes an operator
/// again is told that it is done, and a stored policy has one more version.
pub async fn a_directory_told_again_remembers_the_same<S: Store>(store: &S, _: &Clocked) {
    let id = principal(store).await;
    let faulty = Faulty::new(store);
    let lose = |fault| faulty.fail(fault, At::Everything, Often::Next(1));
    let lost = |answered: Result<bool, StoreError>| assert!(answered.is_err());
    let name = fresh("agent-").parse().unwrap();
    let kept = Operator {
        name: fresh("bob").parse().unwrap(),
        role: Role::Viewer,
        token: OperatorToken::from_entropy(fresh_entropy()).hash(),
        created_at: store.now(),
    };
    let policy = fresh("reads-").parse().unwrap();
    let key = AgentKey::from_entropy(fresh_entropy()).hash();
    for fault in [Fault::Before, Fault::After] {
        lose(fault);
        lost(faulty.claim_name(&name, &id).await);
        lose(fault);
        lost(faulty.remember_key(&key, &id).await.map(|()| true));
        lose(fault);
        lost(faulty.add_operator(kept.clone()).await);
        lose(fault);
        lost(faulty.store_policy(&policy, "{}").await.map(|_| true));
        let made = fault == Fault::After;
        let named = store.principal_of_name(&name).await.unwrap();
        let found = store.principal_of_key(&key).await.unwrap();
        assert_eq!((named.is_some(), found.is_some()), (made, made));
        assert_eq!(store.operators().await.unwrap().contains(&kept), made);
    }
    assert!(faulty.claim_name(&name, &id).await.unwrap());
    faulty.remember_key(&key, &id).await.unwrap();
    assert!(!faulty.add_operator(kept.clone()).await.unwrap());
    assert_eq!(faulty.store_policy(&policy, "{}").await.unwrap(), 2);
    let named = store.principal_of_name(&name).await.unwrap();
    let found = store.principal_of_key(&key).await.unwrap();
    assert_eq!((named, found), (Some(id.clone()), Some(id)));
    lose(Fault::After);
    lost(faulty.remove_operator(&kept.name).await);
    assert!(!faulty.remove_operator(&kept.name).await.unwrap());
    assert!(!store.operators().await.unwrap().contains(&kept));
}
