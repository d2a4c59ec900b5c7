//! What the directory finds.

use toolgate_core::id::PolicyName;
use toolgate_core::key::OperatorToken;

use super::Clocked;
use super::fixture::Store;
use super::fixture::fresh;
use super::fixture::fresh_entropy;
use super::fixture::key;
use super::fixture::principal;
use super::fixture::queued;
use crate::store::Operator;
use crate::store::Role;

/// Names are taken once; keys, requests and tokens lead to their owners, unknown ones nowhere.
pub async fn names_keys_and_operators_are_found<S: Store>(store: &S, clock: &Clocked) {
    let (one, two) = (principal(store).await, principal(store).await);
    let name = store.head(&one).await.unwrap().unwrap().name.clone();
    assert!(store.claim_name(&name, &one).await.unwrap());
    assert!(!store.claim_name(&name, &two).await.unwrap());
    assert_eq!(
        store.principal_of_name(&name).await.unwrap(),
        Some(one.clone())
    );
    assert!(
        store
            .principals()
            .await
            .unwrap()
            .contains(&(name, one.clone()))
    );

    let (_, secret) = key(store, &one).await;
    assert_eq!(
        store.principal_of_key(&secret.hash()).await.unwrap(),
        Some(one.clone())
    );
    let (_, other) = key(store, &two).await;
    assert_eq!(
        store.principal_of_key(&other.hash()).await.unwrap(),
        Some(two)
    );

    let approval = queued(store, &one, "a").await;
    store.remember_approval(&approval.id, &one).await.unwrap();
    assert_eq!(
        store.principal_of_approval(&approval.id).await.unwrap(),
        Some(one)
    );

    let token = OperatorToken::from_entropy(fresh_entropy());
    assert_eq!(store.operator_of_token(&token.hash()).await.unwrap(), None);
    let operator = Operator {
        name: fresh("bob").parse().unwrap(),
        role: Role::Viewer,
        token: token.hash(),
        created_at: crate::store::Clock::now(clock.as_ref()),
    };
    assert!(store.add_operator(operator.clone()).await.unwrap());
    assert!(!store.add_operator(operator.clone()).await.unwrap());
    assert_eq!(
        store.operator_of_token(&token.hash()).await.unwrap(),
        Some(operator.clone())
    );
    assert!(store.operators().await.unwrap().contains(&operator));
    assert!(store.remove_operator(&operator.name).await.unwrap());
    assert!(!store.remove_operator(&operator.name).await.unwrap());
    assert_eq!(store.operator_of_token(&token.hash()).await.unwrap(), None);
}

/// A stored policy has a version that grows.
pub async fn policies_are_kept_by_name<S: Store>(store: &S, _: &Clocked) {
    let name: PolicyName = fresh("reads-").parse().unwrap();
    assert_eq!(store.named_policy(&name).await.unwrap(), None);
    assert_eq!(store.store_policy(&name, "{}").await.unwrap(), 1);
    assert_eq!(
        store.store_policy(&name, r#"{"tools":{}}"#).await.unwrap(),
        2
    );
    let kept = store.named_policy(&name).await.unwrap().unwrap();
    assert_eq!((kept.version, kept.text.as_str()), (2, r#"{"tools":{}}"#));
    assert!(store.named_policies().await.unwrap().contains(&kept));
}
